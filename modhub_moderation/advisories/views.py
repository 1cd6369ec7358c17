"""Advisories for programs. Everybody reads them; an overlay asks by five digits, and does not tell what it has."""

from typing import Any

from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.base.operations import Operation, Refusal
from modhub.base.service_registry import find_optional_service
from modhub.plugins.services import ISigner
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.views import OPEN, api
from modhub_moderation.advisories.limits import clean_prefix
from modhub_moderation.advisories.read_service import AdvisoryReader
from modhub_moderation.advisories.resources import AdvisoryPrefixResource, IAdvisories, IAdvisoryPrefix
from modhub_moderation.advisories.schemas import AdvisoriesDocument, AdvisoryExport


@api(
    context=IAdvisoryPrefix,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="find_advisories",
        about="What is known of files, by the first five digits of their SHA-256.",
        returns=AdvisoriesDocument,
        refusals=(Refusal(404, "not_found", "Not exactly five hexadecimal digits."),),
        clauses=("C-ADV-1", "C-ADV-2", "C-ADV-3"),
    ),
)
def find_advisories_view(context: AdvisoryPrefixResource, request: Request) -> Response:
    """``GET /api/modhub/advisories/{prefix}``"""
    prefix = clean_prefix(context.__name__)
    if prefix is None:
        raise not_found()
    return public_json(encode(AdvisoriesDocument(AdvisoryReader(request.databases.raw_queries).with_prefix(prefix))))


@api(
    context=IAdvisories,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="export_advisories",
        about="All that is known of files, signed as the pointer to the snapshot.",
        returns=AdvisoryExport,
        clauses=("C-ADV-4",),
    ),
)
def export_advisories_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/advisories``"""
    signer = find_optional_service(request.registry, ISigner)
    return public_json(AdvisoryReader(request.databases.raw_queries).export(signer))
