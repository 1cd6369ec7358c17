"""Request bodies: lists of GUIDs, of what is installed, and locks."""

import re
from collections.abc import Iterable
from typing import Annotated, Final

from msgspec import UNSET, Struct, UnsetType

from modhub.base.errors import invalid
from modhub.base.operations import about
from modhub.content.text import N_
from modhub_sync import limits

OptionalLabel = str | UnsetType | None
_GUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_SHA256: Final = re.compile("[0-9a-f]{64}", re.IGNORECASE | re.ASCII)


def clean_guid(value: str) -> str | None:
    """Return a GUID in lower case; None if it is not one."""
    return value.lower() if _GUID.fullmatch(value) else None


class InstalledEntry(Struct):
    """A mod that the caller has: its label, or the SHA-256 of its code file, or both; and what the caller knows of it.

    ``relations`` is the digest of its requirements and conflicts that a plan or an update check answered (C-SYNC-17).
    """

    guid: Annotated[str, about("The mod", "8f14e45f-ceea-467f-ab1c-3d5e0a6b7c21")]
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
