"""Plans: which mods to install in which order and why, what excludes what, and the lock of the result.

Plain values in, plain values out. The work grows with the number of requirements, not with the length of paths.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from typing import Final

from msgspec import UNSET, Raw, Struct, UnsetType

from modhub.plugins.services import RelatedMod
from modhub.web.payload import encode
from modhub_sync import limits
from modhub_sync.schemas import (
    ConflictDocument,
    ExcludingDocument,
    InstalledEntry,
    LockDocument,
    LockEntryDocument,
    MissingDocument,
    PlanDocument,
    StepDocument,
)

InstallOrder = Callable[[Iterable[str], dict[str, list[str]]], tuple[list[str], list[str]]]
_HALF: Final = limits.PATH_SHOWN // 2
_RELATIONS_DIGITS: Final = 16
"""Of the SHA-256: it is only compared with that of the same mod, and each step of a plan has one."""


class _Reason(Struct, gc=False):
    """Why mods are in a plan: the path to the mod that requires them, which all that it requires share."""

    depth: int
    beginning: list[str]
    end: list[str]
    """The last GUIDs of the path, made from those of its requirer: no path is ever walked."""
    because: list[str] | UnsetType
    shown_depth: int | UnsetType

    def through(self, requirer: str) -> "_Reason":
        """The reason of what ``requirer`` requires, if this is its own."""
        depth, beginning = self.depth + 1, self.beginning
        if len(beginning) < _HALF:
            beginning = [*beginning, requirer]
        end = self.end[1 - limits.PATH_SHOWN :]
        end.append(requirer)
        if depth <= limits.PATH_SHOWN:
            return _Reason(depth, beginning, end, end, UNSET)
        return _Reason(depth, beginning, end, beginning + end[-_HALF:], depth)


_WANTED: Final = _Reason(0, [], [], [], UNSET)
_UNTOLD: Final = _Reason(0, [], [], UNSET, UNSET)
"""In place of all reasons in a plan without the paths, which are most of a long plan."""


def find_reasons(requested: Iterable[str], requires: Mapping[str, list[str]]) -> dict[str, _Reason]:
    """Find the shortest path from a wanted mod to each mod that it requires, directly or through others."""
    reasons = {guid: _WANTED for guid in requested if guid in requires}
    waiting = list(reasons)
    for requirer in waiting:
        reason = None
        for guid in map(str.lower, requires[requirer]):
            if guid in requires and guid not in reasons:
                reason = reason or reasons[requirer].through(requirer)
                reasons[guid] = reason
                waiting.append(guid)
    return reasons


def make_plan(
    want: Mapping[str, str],
    have: Mapping[str, InstalledEntry],
    mods: Mapping[str, RelatedMod],
    order: InstallOrder,
    *,
    has_reasons: bool,
) -> PlanDocument:
    """Plan the installation of ``want`` beside ``have``.

    ``want`` maps GUIDs in lower case to GUIDs as sent. ``mods`` are those that are wanted, required and installed, by
    GUID, as far as they are published. ``order`` is the core's installation order.
    """
    requires = {guid: mod.requires for guid, mod in mods.items()}
    ordered, missing = order(want.values(), requires)
    reasons, default = (find_reasons(want, requires), _WANTED) if has_reasons else ({}, _UNTOLD)
    steps = [_step(mods[guid], have.get(guid), reasons.get(guid, default)) for guid in ordered]
    pairs = list(_conflicting_pairs([*dict.fromkeys([*ordered, *have])], mods))
    excluding = partial(_excluding, mods, reasons, default)
    downloads = (mods[step.guid].file.bytes for step in steps if step.action != "keep")
    return PlanDocument(
        steps=steps,
        conflicts=[
            ConflictDocument([excluding(first, second), excluding(second, first)])
            for first, second in pairs[: limits.CONFLICTS]
        ],
        conflicts_total=len(pairs),
        missing=_missing([guid for guid in missing if guid.lower() not in have], ordered, mods),
        still_installed=[guid for guid in missing if guid.lower() in have],
        bytes=sum(downloads),
        lock=create_lock(mods[guid] for guid in ordered),
    )


def _step(mod: RelatedMod, installed: InstalledEntry | None, reason: _Reason) -> StepDocument:
    file, action = mod.file, "install"
    if installed is not None:
        action = "keep" if installed.has(file.version, file.sha256) else "update"
    return StepDocument(
        guid=file.guid,
        because=reason.because,
        depth=reason.shown_depth,
        action=action,
        relations=digest_relations(mod),
        title=file.title,
        name=file.name,
        bytes=file.bytes,
        sha256=file.sha256,
        url=file.url,
        uploaded_at=file.uploaded_at,
    )


def digest_relations(mod: RelatedMod) -> str:
    """Identify what the mod requires and excludes, whatever the order and the case of its GUIDs."""
    sides = [sorted({guid.lower() for guid in side}) for side in (mod.requires, mod.conflicts)]
    return hashlib.sha256(encode(sides)).hexdigest()[:_RELATIONS_DIGITS]


def _excluding(
    mods: Mapping[str, RelatedMod], reasons: Mapping[str, _Reason], default: _Reason, guid: str, other: str
) -> ExcludingDocument:
    mod, reason = mods.get(guid), reasons.get(guid, default)
    return ExcludingDocument(
        guid=guid,
        because=reason.because,
        depth=reason.shown_depth,
        title=None if mod is None else mod.file.title,
        excludes=mod is not None and other in map(str.lower, mod.conflicts),
    )


def _conflicting_pairs(present: list[str], mods: Mapping[str, RelatedMod]) -> Iterator[tuple[str, str]]:
    """Yield each pair once, in the order of the mods; it is enough that one of the two excludes the other."""
    places = {guid: place for place, guid in enumerate(present)}
    seen: set[tuple[str, str]] = set()
    for guid in present:
        mod = mods.get(guid)
        if mod is None or not mod.conflicts:
            continue
        for other in map(str.lower, mod.conflicts):
            if other not in places or other == guid:
                continue
            pair = (guid, other) if places[guid] < places[other] else (other, guid)
            if pair not in seen:
                seen.add(pair)
                yield pair


def _missing(missing: list[str], ordered: list[str], mods: Mapping[str, RelatedMod]) -> list[MissingDocument]:
    if not missing:
        return []
    requirers: dict[str, list[str]] = {guid.lower(): [] for guid in missing}
    for guid in ordered:
        for required in map(str.lower, mods[guid].requires):
            if required in requirers:
                requirers[required].append(guid)
    return [MissingDocument(guid, requirers[guid.lower()]) for guid in missing]


def create_lock(mods: Iterable[RelatedMod]) -> LockDocument:
    """Lock exactly these files, in the order of their GUIDs."""
    files = sorted((mod.file for mod in mods), key=attrgetter("guid"))
    # Without spaces, fields by name, in UTF-8: canonical JSON as in RFC 8785.
    entries = encode([LockEntryDocument(file.guid, file.sha256, file.version) for file in files])
    return LockDocument(hashlib.sha256(entries).hexdigest(), Raw(entries))
