"""What the API views declare about themselves (:mod:`modhub.base.operations`)."""

from typing import Annotated, Final

from msgspec import Raw

from modhub.base.operations import RANGED_FILE, Operation, Parameter, Refusal, documented_as
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
    refusals=(Refusal(404, "not_found", "There is no snapshot."),),
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
    refusals=(Refusal(404, "not_found", "No such snapshot, or not any more."),),
    clauses=("C-SYNC-13",),
)
READ_MOD_BY_GUID: Final = Operation(
    id="read_mod_by_guid",
    about="The mod with this GUID, as the read by its number answers it.",
    returns=Annotated[Raw, documented_as("SingleModDocument")],
    refusals=(Refusal(404, "not_found", "No such mod, it is a draft or hidden, or this is not a GUID."),),
    clauses=("C-SYNC-1",),
)
LOOK_UP_MODS: Final = Operation(
    id="look_up_mods",
    about="Many mods by their GUIDs.",
    takes=LookupRequest,
    returns=LookupDocument,
    clauses=("C-SYNC-16",),
)
CHECK_FOR_UPDATES: Final = Operation(
    id="check_for_updates",
    about="What has changed in the mods that the caller has.",
    takes=UpdateRequest,
    returns=UpdatesDocument,
    clauses=("C-SYNC-3", "C-SYNC-17"),
)
READ_CHANGES: Final = Operation(
    id="read_changes",
    about="What has changed since a serial, each mod once with its latest change.",
    returns=ChangesDocument,
    parameters=(
        Parameter("since", "The serial of the last answer.", int, 0),
        Parameter("limit", "Changes in one answer.", int, limits.CHANGES),
        Parameter("feed", "The feed of the last answer."),
    ),
    refusals=(
        Refusal(400, "invalid_input", "since or limit is not a whole number."),
        Refusal(410, "feed_restarted", "Another feed, or a serial that it does not have yet: begin again."),
    ),
    clauses=("C-SYNC-4", "C-SYNC-5", "C-SYNC-6"),
)
PLAN_INSTALLATION: Final = Operation(
    id="plan_installation",
    about="All that must be installed, updated or kept for the wanted mods, in order, with conflicts and a lock.",
    takes=PlanRequest,
    returns=PlanDocument,
    schemas=(LockEntryDocument,),
    clauses=("C-SYNC-9", "C-SYNC-10", "C-SYNC-11", "C-SYNC-17"),
)
CHECK_LOCK: Final = Operation(
    id="check_lock",
    about="Whether the files of a lock are still the ones that are served.",
    takes=LockRequest,
    returns=LockStateDocument,
    clauses=("C-SYNC-11",),
)
