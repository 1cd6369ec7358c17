"""From a plan to files in place: look up, download, verify, and only then change the folder."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TextIO, TypeVar

from modhub_get import answers
from modhub_get.answers import InstallPlan, RemoteMod
from modhub_get.downloads import fetch_all
from modhub_get.installation import InstallationState, LocalMod, ModInstallation
from modhub_get.lockfile import LockEntry
from modhub_get.outcome import DiskFull, ExitCode, GetError
from modhub_get.progress import TransferBar
from modhub_get.service import ModhubService
from modhub_get.transfer import FileReplaced, Transfer

ROUNDS: Final = 4
"""Plans that are made, if files are replaced on the service while they are downloaded."""
LOOKUP: Final = 100
"""Mods in one lookup: at most 500 are allowed, but their descriptions make large answers."""
AT_ONCE: Final = 500
"""Wanted mods of one plan, and mods of one update check."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install. ``jobs``: downloads at a time; ``terminal``: where the progress bar is drawn."""

    jobs: int
    most_bytes: int
    allow_missing: bool
    allow_conflicts: bool
    terminal: TextIO | None


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """What was done: the plan, and the mods whose files are new in the folder."""

    plan: InstallPlan
    placed: tuple[LocalMod, ...]


class Installer:
    """Installs into one folder from one service."""

    def __init__(self, service: ModhubService, installation: ModInstallation, options: InstallOptions) -> None:
        self.service = service
        self.installation = installation
        self.options = options

    def intact(self) -> dict[str, LocalMod]:
        """The installed mods whose files are as they should be. Damaged and missing ones are installed again."""
        mods = self.installation.state.mods
        return {guid: mod for guid, mod in mods.items() if self.installation.is_intact(mod)}

    def follow_plan(self, want: Iterable[str]) -> AppliedPlan:
        """Ask for a plan that gets ``want``, and do what it says. Nothing is changed unless all of it can be done."""
        requested = list(want)
        for attempt in range(ROUNDS):
            plan = self._ask(requested)
            self._refuse_gaps(plan)
            steps = [step for step in plan.steps if step.action != "keep"]
            try:
                placed = self.place([plan.locked[step.guid] for step in steps], requested, recheck=not attempt)
            except FileReplaced:
                # A file was replaced or deleted in the meantime, or an answer was damaged on its way.
                continue
            return AppliedPlan(plan, placed)
        raise GetError(ExitCode.BAD_ANSWER, "The service's plan and its files do not match; nothing was changed.")

    def place(self, entries: list[LockEntry], requested: list[str], *, recheck: bool) -> tuple[LocalMod, ...]:
        """Download exactly these files, then put all of them in place. ``recheck``: compare their names once more."""
        mods = self._look_up([entry.guid for entry in entries])
        new = [self._installed(mods.get(entry.guid), entry, requested) for entry in entries]
        try:
            self._download(new, mods, recheck=recheck)
            self._apply(new, requested)
        except BaseException as problem:
            self.installation.remove_empty_places(new)
            if isinstance(problem, DiskFull):
                # They would keep it full.
                self.installation.clear_parts()
            raise
        return tuple(new)

    def _download(self, new: list[LocalMod], mods: dict[str, RemoteMod], *, recheck: bool) -> None:
        self.installation.check_places(new)
        transfers = [
            Transfer(
                guid=mod.guid,
                path=mods[mod.guid].path,
                bytes=mod.bytes,
                sha256=mod.sha256,
                part=self.installation.part_of(mod.guid, mod.sha256),
                name=mod.name if recheck else "",
            )
            for mod in new
        ]
        bar = TransferBar(sum(mod.bytes for mod in new), self.options.terminal)
        try:
            fetch_all(self.service, transfers, bar, self.options.jobs)
        finally:
            bar.close()

    def mark_wanted(self, guids: list[str]) -> None:
        """Record that these installed mods were asked for."""
        self._apply([], guids)

    def _apply(self, new: list[LocalMod], requested: list[str]) -> None:
        mods = {**self.installation.state.mods, **{mod.guid: mod for mod in new}}
        for guid in requested:
            if guid in mods:
                mods[guid] = replace(mods[guid], wanted=True)
        state = InstallationState(self.service.url, mods)
        if new or state != self.installation.state:
            self.installation.apply(state, new)
        self.installation.clear_parts()

    def _ask(self, requested: list[str]) -> InstallPlan:
        have = [{"guid": mod.guid, "version": mod.version, "sha256": mod.sha256} for mod in self.intact().values()]
        plans = [
            self.service.post("/api/modhub/plan", {"want": batch, "have": have}, answers.decode_plan)
            for batch in in_batches(requested, AT_ONCE)
        ]
        return answers.merge_plans(plans)

    def _refuse_gaps(self, plan: InstallPlan) -> None:
        if plan.missing and not self.options.allow_missing:
            guids = ", ".join(str(entry["guid"]) for entry in plan.missing[:10])
            sentence = f"Not on the service: {guids}. Nothing was changed; --allow-missing installs the rest."
            raise GetError(ExitCode.NOT_AVAILABLE, sentence, missing=list(plan.missing))
        if plan.conflicts and not self.options.allow_conflicts:
            pairs = [" and ".join(str(mod["guid"]) for mod in conflict["pair"]) for conflict in plan.conflicts]
            sentence = f"In conflict: {'; '.join(pairs[:10])}. Nothing was changed."
            raise GetError(ExitCode.CONFLICT, sentence, conflicts=list(plan.conflicts))

    def _look_up(self, guids: list[str]) -> dict[str, RemoteMod]:
        mods_by_guid: dict[str, RemoteMod] = {}
        waiting = guids
        while waiting:
            batch = waiting[:LOOKUP]
            decode = partial(answers.decode_mods, asked=batch)
            mods, more = self.service.post("/api/modhub/lookup", {"guids": batch}, decode)
            mods_by_guid |= mods
            waiting = [*more, *waiting[LOOKUP:]]
        return mods_by_guid

    def _installed(self, mod: RemoteMod | None, entry: LockEntry, requested: list[str]) -> LocalMod:
        if mod is None or mod.version != entry.version:
            raise FileReplaced(entry.guid)
        answers.check_file(mod, self.options.most_bytes)
        before = self.installation.state.mods.get(mod.guid)
        return LocalMod(
            guid=mod.guid,
            id=mod.id,
            title=mod.title,
            version=mod.version,
            sha256=entry.sha256,
            bytes=mod.bytes,
            name=answers.local_name(mod),
            requires=mod.requires,
            wanted=mod.guid in requested or (before is not None and before.wanted),
        )


def in_batches(values: Sequence[_T], size: int) -> Iterator[list[_T]]:
    """Yield the values in lists of at most ``size``."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
