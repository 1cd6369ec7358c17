"""Plans: which mods to install in which order and why, what excludes what, and the lock of the result.

Plain values in, plain values out. The work grows with the number of requirements, not with the length of paths.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from msgspec import UNSET

from modhub.interfaces import RelatedMod
from modhub.payload import encode
from modhub_sync import limits
from modhub_sync.request_schemas import InstalledEntry
from modhub_sync.response_schemas import (
    ConflictDocument,
    LockDocument,
    LockEntryDocument,
    MissingDocument,
    PathDocument,
    PlanDocument,
    StepDocument,
)

InstallOrder = Callable[[Iterable[str], dict[str, list[str]]], tuple[list[str], list[str]]]
_HALF: Final = limits.PATH_SHOWN // 2


class Paths:
    """The shortest path from a wanted mod to each mod that it requires, directly or through others."""

    def __init__(self, wanted: Iterable[str], requires: Mapping[str, list[str]]) -> None:
        self._depths: dict[str, int] = {}
        self._beginnings: dict[str, list[str]] = {}
        self._ends: dict[str, list[str]] = {}
        """The last GUIDs of each path, made from those of its requirer: no path is ever walked."""
        waiting = deque(guid for guid in wanted if guid in requires)
        for guid in waiting:
            self._depths[guid], self._beginnings[guid], self._ends[guid] = 0, [], []
        while waiting:
            requirer = waiting.popleft()
            depth, beginning = self._depths[requirer] + 1, self._beginnings[requirer]
            if len(beginning) < _HALF:
                beginning = [*beginning, requirer]
            end = [*self._ends[requirer][1 - limits.PATH_SHOWN :], requirer]
            for guid in map(str.lower, requires[requirer]):
                if guid in requires and guid not in self._depths:
                    self._depths[guid], self._beginnings[guid], self._ends[guid] = depth, beginning, end
                    waiting.append(guid)

    def because(self, guid: str) -> tuple[list[str], int | None]:
        """Return the path to ``guid``, without it, and its length if only its two ends are shown."""
        depth, end = self._depths.get(guid, 0), self._ends.get(guid, [])
        if depth <= limits.PATH_SHOWN:
            return end, None
        return [*self._beginnings[guid], *end[-_HALF:]], depth


def make_plan(
    want: Mapping[str, str],
    have: Mapping[str, InstalledEntry],
    mods: Mapping[str, RelatedMod],
    order: InstallOrder,
) -> PlanDocument:
    """Plan the installation of ``want`` beside ``have``.

    ``want`` maps GUIDs in lower case to GUIDs as sent. ``mods`` are those that are wanted, required and installed, by
    GUID, as far as they are published. ``order`` is the core's installation order.
    """
    requires = {guid: mod.requires for guid, mod in mods.items()}
    ordered, missing = order(want.values(), requires)
    paths = Paths(want, requires)
    steps = [_step(mods[guid], have.get(guid), paths) for guid in ordered]
    pairs = list(_conflicting_pairs([*dict.fromkeys([*ordered, *have])], mods))
    downloads = (mods[step.guid].file.bytes for step in steps if step.action != "keep")
    return PlanDocument(
        steps=steps,
        conflicts=[ConflictDocument([_path(guid, paths) for guid in pair]) for pair in pairs[: limits.CONFLICTS]],
        conflicts_total=len(pairs),
        missing=_missing(missing, ordered, mods),
        bytes=sum(downloads),
        lock=create_lock(mods[guid] for guid in ordered),
    )


def _step(mod: RelatedMod, installed: InstalledEntry | None, paths: Paths) -> StepDocument:
    file = mod.file
    action = "install"
    if installed is not None:
        action = "keep" if installed.has(file.version, file.sha256) else "update"
    because, depth = paths.because(file.guid)
    return StepDocument(guid=file.guid, action=action, because=because, depth=UNSET if depth is None else depth)


def _path(guid: str, paths: Paths) -> PathDocument:
    because, depth = paths.because(guid)
    return PathDocument(guid=guid, because=because, depth=UNSET if depth is None else depth)


def _conflicting_pairs(present: list[str], mods: Mapping[str, RelatedMod]) -> Iterator[tuple[str, str]]:
    """Yield each pair once, in the order of the mods; it is enough that one of the two excludes the other."""
    places = {guid: place for place, guid in enumerate(present)}
    seen: set[tuple[str, str]] = set()
    for guid in present:
        mod = mods.get(guid)
        for other in map(str.lower, mod.conflicts if mod else ()):
            if other not in places or other == guid:
                continue
            pair = (guid, other) if places[guid] < places[other] else (other, guid)
            if pair not in seen:
                seen.add(pair)
                yield pair


def _missing(missing: list[str], ordered: list[str], mods: Mapping[str, RelatedMod]) -> list[MissingDocument]:
    requirers: dict[str, list[str]] = {guid.lower(): [] for guid in missing}
    for guid in ordered:
        for required in map(str.lower, mods[guid].requires):
            if required in requirers:
                requirers[required].append(guid)
    return [MissingDocument(guid, requirers[guid.lower()]) for guid in missing]


def create_lock(mods: Iterable[RelatedMod]) -> LockDocument:
    """Lock exactly these files, in the order of their GUIDs."""
    files = sorted((mod.file for mod in mods), key=lambda file: file.guid)
    entries = [LockEntryDocument(file.guid, file.sha256, file.version) for file in files]
    # Without spaces, fields by name, in UTF-8: canonical JSON as in RFC 8785.
    return LockDocument(hashlib.sha256(encode(entries)).hexdigest(), entries)
