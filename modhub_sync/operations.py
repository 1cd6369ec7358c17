"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Annotated, Final

from msgspec import Raw

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
from modhub_sync import limits
from modhub_sync.request_schemas import LockRequest, LookupRequest, PlanRequest, UpdateRequest
from modhub_sync.response_schemas import (
    ChangesDocument,
    LockEntryDocument,
    LockStateDocument,
    LookupDocument,
    PlanDocument,
    PublicKeyDocument,
    SnapshotDocument,
    UpdatesDocument,
)

READ_SNAPSHOT: Final = Operation(
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
    clauses=("C-SYNC-12", "C-SYNC-13", "C-SYNC-21"),
)
READ_SNAPSHOT_KEY: Final = Operation(
    id="read_snapshot_key",
    about="The key that snapshots are signed with.",
    returns=PublicKeyDocument,
    refusals=(Refusal(404, "not_found", "The service does not sign its snapshots."),),
    clauses=("C-SYNC-13",),
)
DOWNLOAD_SNAPSHOT: Final = Operation(
    id="download_snapshot",
    about="A snapshot: one mod a line, compressed with gzip.",
    returns=RANGED_FILE,
    refusals=(Refusal(404, "not_found", "No such snapshot, or no longer: read the pointer again."),),
    clauses=("C-SYNC-12", "C-SYNC-14", "C-FILE-1", "C-FILE-2"),
)
READ_MOD_BY_GUID: Final = Operation(
    id="read_mod_by_guid",
    about="The mod with this GUID, as the read by its number answers it.",
    returns=Annotated[Raw, documented_as("SingleModDocument")],
    refusals=(Refusal(404, "not_found", "No such mod, it is a draft or hidden, or this is not a GUID."),),
    sends=(FILE_LINKS,),
    clauses=("C-SYNC-1",),
)
LOOK_UP_MODS: Final = Operation(
    id="look_up_mods",
    about="Many mods by their GUIDs.",
    takes=LookupRequest,
    returns=LookupDocument,
    refusals=(
        Refusal(400, "invalid_input", f"No list, more than {limits.GUIDS_AT_ONCE}, or an item that is not a GUID."),
        body_over(limits.QUESTION),
    ),
    clauses=("C-SYNC-16", "C-SYNC-20"),
)
CHECK_FOR_UPDATES: Final = Operation(
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
)
READ_CHANGES: Final = Operation(
    id="read_changes",
    about="What has changed since a serial, each mod once with its latest change.",
    returns=ChangesDocument,
    parameters=(
        Parameter("since", "The changes after this serial, that of the last answer.", int, 0),
        Parameter("limit", f"Changes in one answer, 1 to {limits.CHANGES_MOST}.", int, limits.CHANGES),
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
    clauses=("C-SYNC-4", "C-SYNC-5", "C-SYNC-6", "C-SYNC-7", "C-SYNC-15", "C-SYNC-25", "C-SYNC-26"),
)
PLAN_INSTALLATION: Final = Operation(
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
    clauses=(
        "C-SYNC-9",
        "C-SYNC-10",
        "C-SYNC-11",
        "C-SYNC-17",
        "C-SYNC-20",
        "C-SYNC-22",
        "C-SYNC-23",
        "C-SYNC-24",
    ),
)
CHECK_LOCK: Final = Operation(
    id="check_lock",
    about="Whether the files of a lock are still the ones that are served.",
    takes=LockRequest,
    returns=LockStateDocument,
    refusals=(
        Refusal(400, "invalid_input", "No lock, too many entries, or one without a GUID."),
        body_over(limits.PLAN_QUESTION),
    ),
    clauses=("C-SYNC-11", "C-SYNC-20"),
)
