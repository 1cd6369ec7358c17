"""The bodies of calls for synchronisation, sent and answered."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType

from modhub.base.errors import invalid
from modhub.base.operations import about, documented_as
from modhub.content.text import N_
from modhub_sync import limits

OptionalLabel = str | UnsetType | None
_GUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_SHA256: Final = re.compile("[0-9a-f]{64}", re.IGNORECASE | re.ASCII)


def clean_guid(value: str) -> str | None:
    """Return a GUID in lower case; None if it is not one."""
    return value.lower() if _GUID.fullmatch(value) else None


ModGuid = Annotated[str, about("The mod", "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21")]
ModTitle = Annotated[str, about("The title of the mod", "Calm HUD")]
FileName = Annotated[str, about("The name to save its code file under", "hud.zip")]
FileBytes = Annotated[int, about("Size of its code file", 48213)]
FileDigest = Annotated[
    str,
    about(
        "SHA-256 of its code file, 64 hexadecimal digits",
        "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544",
    ),
]
FileAddress = Annotated[str, about("Its code file", "/Modhub/file/57")]
UploadMoment = Annotated[str, about("When these bytes were uploaded", "2026-11-21T08:15:30.123456Z")]


class InstalledEntry(Struct):
    """A mod that the caller has: its label, or the SHA-256 of its code file, or both; and what the caller knows of it.

    ``relations`` is the digest of its requirements and conflicts that a plan or an update check answered (C-SYNC-17).
    """

    guid: ModGuid
    version: Annotated[OptionalLabel, about("Its label, which is compared if there is no `sha256`", "1.3")] = UNSET
    sha256: Annotated[
        OptionalLabel,
        about(
            "SHA-256 of its code file, 64 hexadecimal digits",
            "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544",
        ),
    ] = UNSET
    relations: Annotated[
        OptionalLabel,
        about("What the last plan or update check answered; an empty string if there is none yet", "3f1d8c0b9a7e6d54"),
    ] = UNSET

    def has(self, version: str, sha256: str) -> bool:
        """Whether it is this version. The file decides if the caller named it; labels are only compared."""
        if isinstance(self.sha256, str):
            return self.sha256.lower() == sha256
        return self.version == version


def clean_guids(field: str, guids: list[str], most: int) -> dict[str, str]:
    """Return the GUIDs in order, each once: in lower case, and as sent. 400 for anything else, and for too many."""
    if len(guids) > most:
        message = N_("%(field)s may list at most %(most)s entries; there are %(count)s.")
        raise invalid(message, field=field, most=most, count=len(guids))
    cleaned: dict[str, str] = {}
    for position, guid in enumerate(guids, 1):
        folded = clean_guid(guid)
        if folded is None:
            message = N_("In %(field)s, item %(item)s is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
            raise invalid(message, field=field, item=position)
        cleaned.setdefault(folded, guid)
    return cleaned


def clean_installed(field: str, mods: Iterable[InstalledEntry], most: int) -> dict[str, InstalledEntry]:
    """Return the mods in order by GUID, the first of each. 400 as in :func:`clean_guids`, and for a wrong digest."""
    listed = list(mods)
    guids = clean_guids(field, [mod.guid for mod in listed], most)
    for position, mod in enumerate(listed, 1):
        if isinstance(mod.sha256, str) and not _SHA256.fullmatch(mod.sha256):
            message = N_("In %(field)s, the sha256 of item %(item)s is not one: it has 64 hexadecimal digits.")
            raise invalid(message, field=field, item=position)
    first = {mod.guid.lower(): mod for mod in reversed(listed)}
    return {guid: first[guid] for guid in guids}


class LookupRequest(Struct):
    """``POST /api/modhub/lookup``"""

    guids: Annotated[list[str], about(f"At most {limits.GUIDS_AT_ONCE}", ["8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21"])]

    def cleaned(self) -> dict[str, str]:
        """The GUIDs in order, in lower case and as sent."""
        return clean_guids("guids", self.guids, limits.GUIDS_AT_ONCE)


class UpdateRequest(Struct):
    """``POST /api/modhub/updates``"""

    have: Annotated[list[InstalledEntry], about(f"The mods that you have, at most {limits.GUIDS_AT_ONCE}")]

    def cleaned(self) -> dict[str, InstalledEntry]:
        """What the caller has, by GUID."""
        return clean_installed("have", self.have, limits.GUIDS_AT_ONCE)


class PlanRequest(Struct):
    """``POST /api/modhub/plan``: without ``have`` nothing is installed; ``because``: false leaves the paths out."""

    want: Annotated[list[str], about(f"At most {limits.GUIDS_AT_ONCE} GUIDs", ["8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21"])]
    have: Annotated[
        list[InstalledEntry] | UnsetType | None,
        about(f"The installed mods, at most {limits.INSTALLED_AT_ONCE}; none when not sent"),
    ] = UNSET
    because: Annotated[
        bool | UnsetType | None,
        about("false: the answer has neither `because` nor `depth`, which are most of a long plan", True),
    ] = UNSET

    def wanted(self) -> dict[str, str]:
        """The wanted GUIDs in order, in lower case and as sent."""
        return clean_guids("want", self.want, limits.GUIDS_AT_ONCE)

    def installed(self) -> dict[str, InstalledEntry]:
        """What is installed, by GUID."""
        return clean_installed("have", self.have or (), limits.INSTALLED_AT_ONCE)


class LockedMods(Struct):
    """A lock; its digest is for the caller."""

    entries: Annotated[list[InstalledEntry], about(f"Those of the plan's lock, at most {limits.INSTALLED_AT_ONCE}")]


class LockRequest(Struct):
    """``POST /api/modhub/plan/check``"""

    lock: Annotated[
        LockedMods,
        about("The lock of a plan. Check its `digest` yourself: the service compares the entries only"),
    ]

    def cleaned(self) -> dict[str, InstalledEntry]:
        """The entries of the lock, by GUID."""
        return clean_installed("entries", self.lock.entries, limits.INSTALLED_AT_ONCE)


class LookupRest(Struct):
    """``POST /api/modhub/lookup`` without its ``mods``, which come first: GUIDs as sent."""

    missing: Annotated[list[str], about("The other GUIDs as sent, each once", ["01234567-89ab-cdef-0123-456789abcdef"])]
    more: Annotated[
        list[str] | UnsetType,
        about(
            "GUIDs that did not fit: ask again for those; absent otherwise",
            ["7d5f2b1c-8a3e-4c9d-b6f0-1e2d3c4b5a69"],
        ),
    ] = UNSET


class LookupDocument(LookupRest, kw_only=True):
    """``POST /api/modhub/lookup``"""

    mods: Annotated[list[Annotated[Raw, documented_as("ModDocument")]], about("The mods in the order asked")]


class ChangedMod(Struct, rename="camel"):
    """A mod whose code file is another than the caller's."""

    guid: ModGuid
    id: Annotated[int, about("The number in addresses", 12)]
    title: ModTitle
    version: Annotated[str, about("The version on offer", "1.4")]
    name: FileName
    bytes: FileBytes
    sha256: FileDigest
    url: FileAddress
    uploaded_at: UploadMoment
    changelog: Annotated[
        list[Annotated[Any, documented_as("NoteDocument")]],
        about(f"What is new since yours, newest first, at most {limits.NOTES} entries"),
    ]


class RelationsDocument(Struct):
    """The digest of what a mod requires and excludes."""

    guid: ModGuid
    relations: Annotated[str, about("What to keep and to send next time", "b2d9a4e07c6f1835")]


class UpdatesDocument(Struct, rename="camel"):
    """``POST /api/modhub/updates``; the last two only for callers that sent ``relations``."""

    changed: Annotated[list[ChangedMod], about("The mods with another code file")]
    gone: Annotated[list[str], about("GUIDs that are not published, as sent", ["01234567-89ab-cdef-0123-456789abcdef"])]
    same: Annotated[int, about("How many have not changed", 0)]
    relations_changed: Annotated[
        list[str] | UnsetType,
        about(
            "GUIDs of the mods that require or exclude other mods than your `relations` said; absent if you sent none",
            ["8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21"],
        ),
    ] = UNSET
    relations: Annotated[
        list[RelationsDocument] | UnsetType,
        about("What to keep for each of them; absent if you sent none"),
    ] = UNSET


class ChangeDocument(Struct):
    """A change; ``guid`` and ``id`` only of mods, and no ``id`` once it is deleted."""

    serial: Annotated[int, about("The serial of this change. Serials rise, with gaps", 8412)]
    kind: Annotated[
        str,
        about(
            "What has changed: `mod`; `game` for the curated games, `build` and `app_changelog` for the app. "
            "Others may be added: ignore those that you do not know",
            "mod",
        ),
    ]
    what: Annotated[
        str,
        about(
            "`published` (also a mod that is no longer hidden), `edited` (also its changelog), `file` "
            "(another code, CSS or image; it stays `file` when the mod is edited later, so compare the "
            "digest with yours), `deleted` (also a mod that was hidden)",
            "published",
        ),
    ]
    at: Annotated[str, about("Time of the change", "2026-11-21T08:15:30.123456Z")]
    guid: Annotated[
        str | UnsetType,
        about(
            "Only of mods; entries of other kinds say that something of the kind has changed",
            "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21",
        ),
    ] = UNSET
    id: Annotated[int | UnsetType, about("Only of mods that are not deleted", 12)] = UNSET


class ChangesDocument(Struct):
    """``GET /api/modhub/changes``; ``serial`` is the next ``since``."""

    feed: Annotated[
        str,
        about(
            "Identifies the sequence of serials. It changes when the service is restored from a backup: "
            "begin again with `since=0`",
            "9c4de1c2a05b4f0e8f3c1b7a6d5e4f32",
        ),
    ]
    serial: Annotated[int, about("Your next `since`", 8412)]
    more: Annotated[bool, about("Whether there are more: ask again at once", True)]
    changes: Annotated[list[ChangeDocument], about("The entries, by serial")]


class SnapshotDocument(Struct):
    """``GET /api/modhub/snapshot``; ``signature`` is over the other fields."""

    serial: Annotated[int, about("Continue with the changes since this one", 8412)]
    feed: Annotated[str, about("The sequence of serials that it belongs to", "9c4de1c2a05b4f0e8f3c1b7a6d5e4f32")]
    url: Annotated[
        str,
        about("The file", "/Modhub/snapshot/2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"),
    ]
    bytes: Annotated[int, about("Its size", 2310455)]
    sha256: Annotated[
        str,
        about(
            "SHA-256 of the file, 64 hexadecimal digits",
            "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        ),
    ]
    signature: Annotated[
        str | None,
        about(
            "Ed25519, in base64, over the other fields as JSON: names in alphabetical order, no spaces, "
            "UTF-8. null: this service does not sign",
            None,
        ),
    ]


class PublicKeyDocument(Struct, rename="camel"):
    """``GET /api/modhub/snapshot/key``"""

    algorithm: Annotated[str, about("Always `Ed25519` (RFC 8032)", "Ed25519")]
    public_key: Annotated[str, about("32 bytes in base64", "A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=")]


class PathDocument(Struct, kw_only=True, gc=False):
    """A mod and why it is in a plan: the path from a wanted mod to the one that requires it; ``depth`` if it is cut.

    Both are absent from a plan without reasons.
    """

    guid: ModGuid
    because: Annotated[
        list[str] | UnsetType,
        about(
            "The shortest path of GUIDs from a wanted mod to the one that requires it; empty for a wanted "
            f"mod. Of more than {limits.PATH_SHOWN} only the first and the last eight are shown",
            [],
        ),
    ] = UNSET
    depth: Annotated[int | UnsetType, about("The length of such a path; only if it is not shown whole", 17)] = UNSET


class StepDocument(PathDocument, rename="camel", kw_only=True, gc=False):
    """A step of a plan: ``install``, ``update`` or ``keep``; ``relations`` is the digest of an update check."""

    action: Annotated[str, about("`install`, `update` (you have another file) or `keep`", "install")]
    relations: Annotated[
        str,
        about(
            "Identifies what the mod requires and excludes: keep it, and send it with [the update "
            "check](#sync-updates). It is only compared",
            "b2d9a4e07c6f1835",
        ),
    ]
    title: ModTitle
    name: FileName
    bytes: FileBytes
    sha256: FileDigest
    url: FileAddress
    uploaded_at: UploadMoment


class ExcludingDocument(PathDocument, kw_only=True, gc=False):
    """One mod of a pair; ``excludes``: it names the other one. Without a title if it is not published."""

    title: Annotated[str | None, about("null for an installed mod that is not published", "Calm HUD")]
    excludes: Annotated[
        bool,
        about("Whether this mod names the other one in `conflictsWith`; one of the two does, or both", True),
    ]


class ConflictDocument(Struct):
    """Two mods of which at least one excludes the other."""

    pair: Annotated[list[ExcludingDocument], about("The two mods, each with its path")]


class MissingDocument(Struct, rename="camel"):
    """A GUID that is not published, and the mods that require it."""

    guid: Annotated[str, about("The GUID that is not published", "01234567-89ab-cdef-0123-456789abcdef")]
    required_by: Annotated[
        list[str],
        about(
            "GUIDs of the mods that require it directly; empty for a wanted one",
            ["8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21"],
        ),
    ]


class LockEntryDocument(Struct, gc=False):
    """Exactly one file of a mod. The fields are in the order of canonical JSON."""

    guid: ModGuid
    sha256: Annotated[
        str,
        about("SHA-256 of its code file", "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544"),
    ]
    version: Annotated[str, about("Its version", "1.4")]


class LockDocument(Struct):
    """A lock; ``digest`` is the SHA-256 of ``entries``, the canonical JSON of a list of `LockEntryDocument`."""

    digest: Annotated[
        str,
        about(
            "SHA-256 of `entries` as JSON: names in alphabetical order, no spaces, UTF-8 without escapes",
            "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        ),
    ]
    entries: Annotated[Annotated[Raw, documented_as("LockEntryDocument", many=True)], about("By GUID")]


class PlanDocument(Struct, rename="camel"):
    """``POST /api/modhub/plan``; ``bytes`` is what has to be downloaded."""

    steps: Annotated[list[StepDocument], about("In this order")]
    conflicts: Annotated[
        list[ConflictDocument],
        about(
            f"At most {limits.CONFLICTS} pairs of mods of which one excludes the other: wanted, required or installed",
        ),
    ]
    conflicts_total: Annotated[int, about("How many there are", 1)]
    missing: Annotated[list[MissingDocument], about("GUIDs that are not published, and not installed either")]
    still_installed: Annotated[
        list[str],
        about(
            "GUIDs that are not published any more, but are in your `have`: no reason to stop",
            ["01234567-89ab-cdef-0123-456789abcdef"],
        ),
    ]
    bytes: Annotated[int, about("What has to be downloaded: the code files of `install` and `update`", 48213)]
    lock: Annotated[LockDocument, about("Exactly the files of all steps, for another machine or another day")]


class EntryState(Struct):
    """An entry of a lock: ``same``, ``replaced`` or ``gone``."""

    guid: ModGuid
    state: Annotated[str, about("`same`, `replaced` by another file, or `gone`", "same")]


class LockStateDocument(Struct):
    """``POST /api/modhub/plan/check``"""

    entries: Annotated[list[EntryState], about("The entries of the lock in the order sent")]
