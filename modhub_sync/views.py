"""The calls for programs that follow the catalogue. All are anonymous."""

from typing import Any

from pyramid.response import Response

from modhub.base.errors import invalid, not_found
from modhub.db.changes import ChangeReader
from modhub.plugins.resources import ICatalogue
from modhub.plugins.services import IPublicMods
from modhub.web.large_responses import MANY_MODS, take_large_turn
from modhub.web.payload import encode, query, read_json
from modhub.web.request import Request
from modhub.web.responses import composed_answer, composed_json, public_json
from modhub.web.views import OPEN, api
from modhub_sync import limits, operations
from modhub_sync.interfaces import IGuid, IPlan
from modhub_sync.read_service import SyncReader
from modhub_sync.request_schemas import LockRequest, LookupRequest, PlanRequest, UpdateRequest, clean_guid
from modhub_sync.resources import GuidResource
from modhub_sync.response_schemas import LockStateDocument, PlanDocument, UpdatesDocument

_DIGITS = 18
"""A serial has fewer; a longer number lies beyond every one."""


def sync_reader(request: Request) -> SyncReader:
    """The reader of this feature."""
    find = request.find_service
    return SyncReader(find(IPublicMods), find(ChangeReader))


@api(context=IGuid, request_method="GET", permission=OPEN, response_cache=True, operation=operations.READ_MOD_BY_GUID)
def read_by_guid_view(context: GuidResource, request: Request) -> Response:
    """``GET /api/modhub/guid/{guid}``: the same as ``GET /api/modhub/{id}``."""
    guid = clean_guid(context.__name__)
    mods = request.find_service(IPublicMods)
    response = None if guid is None else composed_json(request, lambda: mods.read(guid))
    if response is None:
        raise not_found()
    return response


@api(context=ICatalogue, name="lookup", request_method="POST", permission=OPEN, operation=operations.LOOK_UP_MODS)
def lookup_view(_context: Any, request: Request) -> Response:
    """``POST /api/modhub/lookup``"""
    guids = read_json(request, LookupRequest, limits.QUESTION).cleaned()
    return composed_answer(request, lambda: sync_reader(request).lookup(guids))


@api(context=ICatalogue, name="updates", request_method="POST", permission=OPEN, operation=operations.CHECK_FOR_UPDATES)
def updates_view(_context: Any, request: Request) -> UpdatesDocument:
    """``POST /api/modhub/updates``"""
    request.answers_anybody = True
    return sync_reader(request).updates(read_json(request, UpdateRequest, limits.QUESTION).cleaned())


@api(context=ICatalogue, name="changes", request_method="GET", permission=OPEN, operation=operations.READ_CHANGES)
def changes_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/changes``"""
    since = _number("since", query(request, "since") or "0")
    # Clamped like the size of a page (C-LIST-2).
    limit = min(max(_number("limit", query(request, "limit") or str(limits.CHANGES)), 1), limits.CHANGES_MOST)
    document = sync_reader(request).changes(since, limit, query(request, "feed") or "")
    return public_json(encode(document))


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise invalid("The parameter %(field)s must be a whole number from 0.", field=name)
    digits = value.lstrip("0") or "0"
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS


@api(context=IPlan, request_method="POST", permission=OPEN, operation=operations.PLAN_INSTALLATION)
def plan_view(_context: Any, request: Request) -> PlanDocument:
    """``POST /api/modhub/plan``"""
    request.answers_anybody = True
    question = read_json(request, PlanRequest, limits.PLAN_QUESTION)
    to_install, installed = question.wanted(), question.installed()
    if len(to_install) + len(installed) > MANY_MODS:
        take_large_turn(request.environ)
    return sync_reader(request).plan(to_install, installed, has_reasons=question.because is not False)


@api(context=IPlan, name="check", request_method="POST", permission=OPEN, operation=operations.CHECK_LOCK)
def check_lock_view(_context: Any, request: Request) -> LockStateDocument:
    """``POST /api/modhub/plan/check``"""
    request.answers_anybody = True
    return sync_reader(request).check_lock(read_json(request, LockRequest, limits.PLAN_QUESTION).cleaned())
