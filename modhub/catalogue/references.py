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
        names = {"other": "requires", "field": "conflictsWith"}
        raise invalid("The GUID %(guid)s stands in both %(other)s and %(field)s.", guid=min(both), **names)
    return Lists(requires, conflicts)


def _clean(name: str, guids: list[str] | None, own_guid: str) -> list[str] | None:
    if guids is None:
        return None
    for position, guid in enumerate(guids, 1):
        if not _GUID.match(guid):
            sentence = "In %(field)s, item %(item)s is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef."
            raise invalid(sentence, field=name, item=position)
    merged = list(dict.fromkeys(guid.lower() for guid in guids))
    if own_guid in merged:
        raise invalid("A mod cannot name its own GUID in %(field)s.", field=name)
    if len(merged) > GUIDS:
        sentence = "At most %(most)s GUIDs may stand in %(field)s; there are %(count)s."
        raise invalid(sentence, most=GUIDS, field=name, count=len(merged))
    return merged
