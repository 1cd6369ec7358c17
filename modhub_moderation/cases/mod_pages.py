"""The mod of a case as its owner's preview shows it, with its files, also while it is hidden (C-CAS-11)."""

import re
from typing import Any, Final

from modhub.base.errors import not_found
from modhub.plugins.moderation import IModeration
from modhub.plugins.services import ModSummary
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import file_response
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page
from modhub_moderation.cases.pages import CASES
from modhub_moderation.cases.resources import CaseFileResource, CaseModResource, ICaseFile, ICaseMod
from modhub_moderation.moderators import ModerationPermission

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@page(context=ICaseMod, name="preview", request_method="GET", permission=ModerationPermission.DECIDE)
def case_mod_page(context: CaseModResource, request: Request) -> Any:
    """``GET /Modhub/moderation/cases/{caseId}/mod/preview``; redirects to the public page if there is one."""
    mod, case = _mod_of(context, request), f"{CASES}/{context.__parent__.id}"
    if mod.published:
        return Redirect(f"/Modhub/{mod.id}")
    return request.find_service(IModeration).previews.show_page(request, mod, f"{case}/mod", case)


@page(context=ICaseFile, request_method="GET", permission=ModerationPermission.DECIDE)
def case_file_page(context: CaseFileResource, request: Request) -> Any:
    """``GET …/mod/images/{assetId}``, to be shown in the page, and ``GET …/mod/files/{sha256}``, to be saved."""
    mod, name = _mod_of(context.case_mod, request), context.__name__
    previews = request.find_service(IModeration).previews
    with request.databases.readonly_session() as session:
        if context.is_image:
            file = previews.find_image(session, mod, parse_id(name))
        elif _DIGEST.fullmatch(name):
            file = previews.find_file(session, mod, name)
        else:
            raise not_found()
    return file_response(request, request.store, file)


def _mod_of(context: CaseModResource, request: Request) -> ModSummary:
    with request.databases.readonly_session() as session:
        mod = context.find_mod(session)
    if mod is None:
        raise not_found()
    return mod
