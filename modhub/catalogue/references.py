"""The rules for ``requires`` and ``conflictsWith`` (interface, "Edit semantics" 4; decisions 2.4)."""

import re
from dataclasses import dataclass

from modhub.errors import invalid
from modhub.limits import GUIDS

_GUID = re.compile(r"\A[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


@dataclass(frozen=True, slots=True)
class Lists:
    """The two lists of a mod; None where one was not sent."""

    requires: list[str] | None = None
    conflicts: list[str] | None = None


def check_references(sent: Lists, own_guid: str, kept: Lists | None = None) -> Lists:
    """The lists as they are to be stored: lower case, doubles merged, in the order sent; None where none was sent.

    Both are checked together, the one that was not sent as it is ``kept``; 400 with a sentence for a rule broken.
    """
    kept = kept or Lists([], [])
    requires = _clean("requires", sent.requires, own_guid)
    conflicts = _clean("conflictsWith", sent.conflicts, own_guid)
    after = requires if requires is not None else kept.requires
    both = set(after or ()) & set((conflicts if conflicts is not None else kept.conflicts) or ())
    if both:
        raise invalid(f"The GUID {min(both)} stands in both requires and conflictsWith.")
    return Lists(requires, conflicts)


def _clean(name: str, guids: list[str] | None, own_guid: str) -> list[str] | None:
    if guids is None:
        return None
    for position, guid in enumerate(guids, 1):
        if not _GUID.match(guid):
            raise invalid(f"In {name}, item {position} is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
    merged = list(dict.fromkeys(guid.lower() for guid in guids))
    if own_guid in merged:
        raise invalid(f"A mod cannot name its own GUID in {name}.")
    if len(merged) > GUIDS:
        raise invalid(f"At most {GUIDS} GUIDs may stand in {name}; there are {len(merged)}.")
    return merged
