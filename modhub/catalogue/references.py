"""The rules for ``requires`` and ``conflictsWith`` (C-OWN-2; C-MOD-9)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from modhub.base.errors import invalid
from modhub.content.limits import GUIDS
from modhub.content.text import N_

_GUID = re.compile(r"\A[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


@dataclass(frozen=True, slots=True)
class Lists:
    """The two lists of a mod; None for a list that was not sent."""

    requires: list[str] | None = None
    conflicts: list[str] | None = None


def fold_guid(guid: str) -> str:
    """Return the canonical form of a GUID: GUIDs are compared without regard to case."""
    return guid.lower()


def remove_duplicates(guids: Iterable[str]) -> list[str]:
    """Remove duplicates; the first spelling and position of each GUID remain."""
    first: dict[str, str] = {}
    for guid in guids:
        first.setdefault(fold_guid(guid), guid)
    return list(first.values())


def check_references(submitted: Lists, own_guid: str, current: Lists | None = None) -> Lists:
    """Return the lists to store, without duplicates; None for a list that was not sent.

    GUIDs are compared without regard to case. Both lists are checked together; for one that was not sent, ``current``
    is used. 400 if a rule is violated.
    """
    current = current or Lists([], [])
    requires = _clean("requires", submitted.requires, own_guid)
    conflicts = _clean("conflictsWith", submitted.conflicts, own_guid)
    all_required = requires if requires is not None else current.requires
    folded = set(map(fold_guid, all_required or ()))
    all_conflicts = conflicts if conflicts is not None else current.conflicts
    in_both = [guid for guid in all_conflicts or () if fold_guid(guid) in folded]
    if in_both:
        names = {"other": "requires", "field": "conflictsWith"}
        raise invalid("The GUID %(guid)s is listed in both %(other)s and %(field)s.", guid=in_both[0], **names)
    return Lists(requires, conflicts)


def _clean(name: str, guids: list[str] | None, own_guid: str) -> list[str] | None:
    if guids is None:
        return None
    for position, guid in enumerate(guids, 1):
        if not _GUID.match(guid):
            message = N_("In %(field)s, item %(item)s is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
            raise invalid(message, field=name, item=position)
    unique = remove_duplicates(guids)
    if own_guid in map(fold_guid, unique):
        raise invalid("A mod cannot list its own GUID in %(field)s.", field=name)
    if len(unique) > GUIDS:
        message = N_("%(field)s may list at most %(most)s GUIDs; there are %(count)s.")
        raise invalid(message, most=GUIDS, field=name, count=len(unique))
    return unique
