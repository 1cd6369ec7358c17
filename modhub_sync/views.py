"""The calls for programs that follow the catalogue. All are anonymous."""

from typing import Annotated, Any

from msgspec import Raw
from pyramid.response import Response

from modhub.base.errors import ApiError, found, invalid
from modhub.base.operations import (
    FILE_LINKS,
    RANGED_FILE,
    Lead,
    Operation,
    Parameter,
    Refusal,
    body_over,
    documented_as,
)
from modhub.content.text import N_
from modhub.db.changes import ChangeReader
from modhub.plugins.resources import ICatalogue
from modhub.plugins.services import IPublicMods
from modhub.web.downloads import file_response
from modhub.web.large_responses import MANY_MODS, take_large_turn
from modhub.web.payload import encode, query, read_json
from modhub.web.request import Request
from modhub.web.responses import composed_json, public_json
from modhub.web.views import OPEN, api, page
from modhub_sync import limits, read_service
from modhub_sync.resources import GuidResource, IGuid, IPlan, ISnapshot, ISnapshotFile, SnapshotFileResource
from modhub_sync.schemas import (
    ChangesDocument,
    LockEntryDocument,
    LockRequest,
    LockStateDocument,
    LookupDocument,
    LookupRequest,
    PlanDocument,
    PlanRequest,
    PublicKeyDocument,
    SnapshotDocument,
    UpdateRequest,
    UpdatesDocument,
    clean_guid,
)
from modhub_sync.snapshots import find_file, find_pointer

_DIGITS = 18
"""A serial has fewer; a longer number lies beyond every one."""


@api(
    context=IGuid,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="read_mod_by_guid",
        about="The mod with this GUID, as the read by its number answers it.",
        returns=Annotated[Raw, documented_as("SingleModDocument")],
        refusals=(Refusal(404, "not_found", "No such mod, it is a draft or hidden, or this is not a GUID."),),
        sends=(FILE_LINKS,),
        clauses=("C-SYNC-1",),
    ),
)
def read_by_guid_view(context: GuidResource, request: Request) -> Response:
    """``GET /api/modhub/guid/{guid}``: the same as ``GET /api/modhub/{id}``."""
    guid = clean_guid(context.__name__)
    mods = request.find_service(IPublicMods)
    return found(None if guid is None else composed_json(request, lambda: mods.read(guid)))


@api(
    context=ICatalogue,
    name="lookup",
    request_method="POST",
    permission=OPEN,
    operation=Operation(
        id="look_up_mods",
        about="Many mods by their GUIDs.",
        takes=LookupRequest,
        returns=LookupDocument,
        refusals=(
            Refusal(400, "invalid_input", f"No list, more than {limits.GUIDS_AT_ONCE}, or an item that is not a GUID."),
            body_over(limits.QUESTION),
        ),
        clauses=("C-SYNC-16", "C-SYNC-20"),
    ),
)
def lookup_view(_context: Any, request: Request) -> Response:
    """``POST /api/modhub/lookup``"""
    guids = read_json(request, LookupRequest, limits.QUESTION).cleaned()
    return found(composed_json(request, lambda: read_service.lookup(request.find_service(IPublicMods), guids)))


@api(
    context=ICatalogue,
    name="updates",
    request_method="POST",
    permission=OPEN,
    operation=Operation(
        id="check_for_updates",
        about="What has changed in the mods that the caller has.",
        takes=UpdateRequest,
        returns=UpdatesDocument,
        refusals=(
            Refusal(
                400,
                "invalid_input",
                f"No list, more than {limits.GUIDS_AT_ONCE}, an item without a GUID, or a `sha256` that has not 64 "
                "hexadecimal digits.",
            ),
            body_over(limits.QUESTION),
        ),
        clauses=("C-SYNC-3", "C-SYNC-17", "C-SYNC-20"),
    ),
)
def updates_view(_context: Any, request: Request) -> UpdatesDocument:
    """``POST /api/modhub/updates``"""
    request.answers_anybody = True
    installed = read_json(request, UpdateRequest, limits.QUESTION).cleaned()
    return read_service.updates(request.find_service(IPublicMods), installed)


@api(
    context=ICatalogue,
    name="changes",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_changes",
        about="What has changed since a serial, each mod once with its latest change.",
        returns=ChangesDocument,
        parameters=(
            Parameter("since", "The changes after this serial, that of the last answer.", int, 0),
            Parameter(
                "limit", f"Changes in one answer, at most {limits.CHANGES_MOST}; 0 counts as 1.", int, limits.CHANGES
            ),
            Parameter("feed", "The `feed` of the last answer: 410 if it is another by now."),
        ),
        refusals=(
            Refusal(400, "invalid_input", "`since` or `limit` is not a whole number."),
            Refusal(
                410,
                "feed_restarted",
                "Another `feed`, or `since` is beyond the last serial: the service was restored. Begin with `since=0`.",
            ),
        ),
        leads_to=(Lead("read_changes", {"since": "$response.body#/serial", "feed": "$response.body#/feed"}),),
        clauses=("C-SYNC-4", "C-SYNC-5", "C-SYNC-6", "C-SYNC-7"),
    ),
)
def changes_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/changes``"""
    since = _number("since", query(request, "since") or "0")
    # Clamped like the size of a page (C-LIST-2).
    limit = min(max(_number("limit", query(request, "limit") or str(limits.CHANGES)), 1), limits.CHANGES_MOST)
    reader = request.find_service(ChangeReader)
    document = read_service.changes(reader, since, limit, query(request, "feed") or "")
    return public_json(encode(document))


def _number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise invalid("The parameter %(field)s must be a whole number from 0.", field=name)
    digits = value.lstrip("0") or "0"
    return int(digits) if len(digits) <= _DIGITS else 10**_DIGITS


@api(
    context=IPlan,
    request_method="POST",
    permission=OPEN,
    operation=Operation(
        id="plan_installation",
        about="All that must be installed, updated or kept for the wanted mods, in order, with conflicts and a lock.",
        takes=PlanRequest,
        returns=PlanDocument,
        schemas=(LockEntryDocument,),
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "No list, too many entries, one without a GUID, or with a `sha256` that has not 64 hexadecimal digits.",
            ),
            body_over(limits.PLAN_QUESTION),
        ),
        clauses=("C-SYNC-9", "C-SYNC-10", "C-SYNC-11", "C-SYNC-17", "C-SYNC-20"),
    ),
)
def plan_view(_context: Any, request: Request) -> PlanDocument:
    """``POST /api/modhub/plan``"""
    request.answers_anybody = True
    question = read_json(request, PlanRequest, limits.PLAN_QUESTION)
    to_install, installed = question.wanted(), question.installed()
    if len(to_install) + len(installed) > MANY_MODS:
        take_large_turn(request.environ)
    mods = request.find_service(IPublicMods)
    return read_service.plan(mods, to_install, installed, has_reasons=question.because is not False)


@api(
    context=IPlan,
    name="check",
    request_method="POST",
    permission=OPEN,
    operation=Operation(
        id="check_lock",
        about="Whether the files of a lock are still the ones that are served.",
        takes=LockRequest,
        returns=LockStateDocument,
        refusals=(
            Refusal(400, "invalid_input", "No lock, too many entries, or one without a GUID."),
            body_over(limits.PLAN_QUESTION),
        ),
        clauses=("C-SYNC-11", "C-SYNC-20"),
    ),
)
def check_lock_view(_context: Any, request: Request) -> LockStateDocument:
    """``POST /api/modhub/plan/check``"""
    request.answers_anybody = True
    entries = read_json(request, LockRequest, limits.PLAN_QUESTION).cleaned()
    return read_service.check_lock(request.find_service(IPublicMods), entries)


@api(
    context=ISnapshot,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_snapshot",
        about="The newest snapshot of the catalogue: where it is, its digest, and the serial to continue from.",
        returns=SnapshotDocument,
        refusals=(
            Refusal(
                404,
                "not_found",
                "There is none: read the changes since 0 to the end, then the pages of the list, look up "
                "the GUIDs of the changes that no page had, and go on with the changes.",
            ),
        ),
        leads_to=(Lead("download_snapshot", {"sha256": "$response.body#/sha256"}),),
        clauses=("C-SYNC-12", "C-SYNC-13"),
    ),
)
def read_pointer_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/snapshot``"""
    key = request.registry.settings["modhub_sync.signing_key"]
    pointer = find_pointer(request.databases.raw_queries, key)
    if pointer is None:
        raise ApiError(404, "not_found", N_("There is no snapshot yet. Start with the changes since 0."))
    return public_json(encode(pointer))


@api(
    context=ISnapshot,
    name="key",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_snapshot_key",
        about="The key that snapshots are signed with.",
        returns=PublicKeyDocument,
        refusals=(Refusal(404, "not_found", "The service does not sign its snapshots."),),
        clauses=("C-SYNC-13",),
    ),
)
def read_public_key_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/snapshot/key``"""
    public = request.registry.settings["modhub_sync.signing_key"].public
    if public is None:
        raise ApiError(404, "not_found", N_("This service does not sign its snapshots."))
    return public_json(encode(PublicKeyDocument("Ed25519", public)))


@page(
    context=ISnapshotFile,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="download_snapshot",
        about="A snapshot: one mod a line, compressed with gzip.",
        returns=RANGED_FILE,
        refusals=(Refusal(404, "not_found", "No such snapshot, or no longer: read the pointer again."),),
        clauses=("C-SYNC-12", "C-SYNC-14", "C-FILE-1", "C-FILE-2"),
    ),
)
def download_snapshot_view(context: SnapshotFileResource, request: Request) -> Response:
    """``GET /Modhub/snapshot/{sha256}``"""
    file = found(find_file(request.databases.raw_queries, context.__name__))
    return file_response(request, request.store, file)
