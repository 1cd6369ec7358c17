"""The rules for ``requires`` and ``conflictsWith`` (C-OWN-2; C-MOD-9)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from modhub.errors import invalid
from modhub.limits import GUIDS
from modhub.text import N_

_GUID = re.compile(r"\A[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


@dataclass(frozen=True, slots=True)
class Lists:
    """The two lists of a mod; None where one was not sent."""

    requires: list[str] | None = None
    conflicts: list[str] | None = None


def fold_guid(guid: str) -> str:
    """What a GUID is compared by: whatever its capitals, it names the same mod."""
    return guid.lower()


def merged(guids: Iterable[str]) -> list[str]:
    """Each GUID once, in the spelling and the place in which it came first."""
    first: dict[str, str] = {}
    for guid in guids:
        first.setdefault(fold_guid(guid), guid)
    return list(first.values())


def check_references(sent: Lists, own_guid: str, kept: Lists | None = None) -> Lists:
    """The lists as they are to be stored: as sent, doubles merged; None where none was sent.

    GUIDs are compared without regard to case. Both lists are checked together, the one that was not sent as it is
    ``kept``; 400 with a sentence for a rule broken.
    """
    kept = kept or Lists([], [])
    requires = _clean("requires", sent.requires, own_guid)
    conflicts = _clean("conflictsWith", sent.conflicts, own_guid)
    after = requires if requires is not None else kept.requires
    needed = set(map(fold_guid, after or ()))
    rivals = conflicts if conflicts is not None else kept.conflicts
    both = [guid for guid in rivals or () if fold_guid(guid) in needed]
    if both:
        names = {"other": "requires", "field": "conflictsWith"}
        raise invalid("The GUID %(guid)s is listed in both %(other)s and %(field)s.", guid=both[0], **names)
    return Lists(requires, conflicts)


def _clean(name: str, guids: list[str] | None, own_guid: str) -> list[str] | None:
    if guids is None:
        return None
    for position, guid in enumerate(guids, 1):
        if not _GUID.match(guid):
            sentence = N_("In %(field)s, item %(item)s is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
            raise invalid(sentence, field=name, item=position)
    kept = merged(guids)
    if own_guid in map(fold_guid, kept):
        raise invalid("A mod cannot list its own GUID in %(field)s.", field=name)
    if len(kept) > GUIDS:
        sentence = N_("%(field)s may list at most %(most)s GUIDs; there are %(count)s.")
        raise invalid(sentence, most=GUIDS, field=name, count=len(kept))
    return kept
