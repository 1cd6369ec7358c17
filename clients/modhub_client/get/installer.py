"""From a plan to files in place: look up, download, verify, and only then change the folder."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TextIO

from modhub_client.get import answers
from modhub_client.get.answers import InstallPlan, RemoteMod
from modhub_client.get.installation import InstallationState, LocalMod, ModInstallation
from modhub_client.get.lockfile import LockEntry
from modhub_client.get.outcome import DiskFull, ExitCode
from modhub_client.get.plans import ask_advisories, ask_plan, describe_advisory, leave_out_young, look_up
from modhub_client.get.service import ModhubService
from modhub_client.get.transfer import FileReplaced, Transfer, fetch_all
from modhub_client.output import ClientError, ProgressBar

ROUNDS: Final = 4
"""Plans that are made, if files are replaced on the service while they are downloaded."""


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """How to install. ``jobs``: downloads at a time; ``terminal``: where the progress bar is drawn.

    ``undoable``: keep what is replaced for ``undo``; ``cooldown``: leave out files younger than this many days.
    """

    jobs: int
    most_bytes: int
    allow_missing: bool
    allow_conflicts: bool
    allow_advised: bool
    terminal: TextIO | None
    undoable: bool = False
    cooldown: int = 0


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
            plan = self.ask(requested)
            try:
                placed = self.place([plan.locked[step.guid] for step in plan.changes], requested, recheck=not attempt)
            except FileReplaced:
                # A file was replaced or deleted in the meantime, or an answer was damaged on its way.
                continue
            self._record_requirements(plan)
            return AppliedPlan(plan, placed)
        raise ClientError(ExitCode.BAD_ANSWER, "The service's plan and its files do not match; nothing was changed.")

    def place(self, entries: list[LockEntry], requested: list[str], *, recheck: bool) -> tuple[LocalMod, ...]:
        """Download exactly these files, then put all of them in place. ``recheck``: compare their names once more."""
        mods = look_up(self.service, [entry.guid for entry in entries])
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
        bar = ProgressBar(sum(mod.bytes for mod in new), self.options.terminal)
        try:
            fetch_all(self.service, transfers, bar, self.options.jobs)
        finally:
            bar.close()

    def _record_requirements(self, plan: InstallPlan) -> None:
        """Note what a mod whose file is the same newly requires: its own entry was written with that file."""
        mods = dict(self.installation.state.mods)
        for step in plan.steps:
            requirer = mods.get(step.because[-1]) if step.because and step.action != "wait" else None
            if requirer is not None and step.guid not in requirer.requires:
                mods[requirer.guid] = replace(requirer, requires=(*requirer.requires, step.guid))
        if mods != self.installation.state.mods:
            self.installation.apply(InstallationState(self.service.url, mods), [])

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
            self.installation.apply(state, new, self.installation.state.mods if self.options.undoable else None)
        self.installation.clear_parts()

    def ask(self, requested: list[str]) -> InstallPlan:
        """The plan that gets ``requested``; refused if something is missing or in conflict."""
        plan = ask_plan(self.service, requested, self.intact().values())
        if plan.missing and not self.options.allow_missing:
            gaps = ", ".join(self._describe_gap(gap) for gap in plan.missing[:10])
            sentence = f"Not on the service: {gaps}. Nothing was changed; --allow-missing installs the rest."
            raise ClientError(ExitCode.NOT_AVAILABLE, sentence, missing=list(plan.missing))
        if plan.conflicts and not self.options.allow_conflicts:
            pairs = [" and ".join(self._name(mod["guid"]) for mod in conflict["pair"]) for conflict in plan.conflicts]
            sentence = f"In conflict: {'; '.join(pairs[:10])}. Nothing was changed."
            raise ClientError(ExitCode.CONFLICT, sentence, conflicts=list(plan.conflicts))
        if self.options.cooldown:
            oldest = datetime.now(UTC) - timedelta(days=self.options.cooldown)
            plan = leave_out_young(self.service, plan, self.installation.state.mods, oldest)
        self.refuse_advised(plan.locked[step.guid] for step in plan.changes)
        return plan

    def refuse_advised(self, entries: Iterable[LockEntry]) -> None:
        """Refuse to place files that the service warns of, unless that is allowed."""
        guids = {entry.sha256: entry.guid for entry in entries}
        if self.options.allow_advised or not guids:
            return
        advised = {guids[sha256]: advisory for sha256, advisory in ask_advisories(self.service, guids).items()}
        if advised:
            warnings = "; ".join(f"{self._name(guid)} ({told.kind}: {told.reason})" for guid, told in advised.items())
            sentence = (
                f"The service warns of {warnings}. Nothing was changed; --allow-advised installs it all the same."
            )
            described = [describe_advisory(guid, advisory) for guid, advisory in advised.items()]
            raise ClientError(ExitCode.ADVISED, sentence, error="advised", advised=described)

    def _describe_gap(self, gap: Mapping[str, Any]) -> str:
        requirers = ", ".join(self._name(str(guid)) for guid in gap.get("requiredBy") or ())
        return f"{gap['guid']}, required by {requirers}" if requirers else str(gap["guid"])

    def _name(self, guid: str) -> str:
        """A mod for people: with its title if it is installed."""
        installed = self.installation.state.mods.get(guid.lower())
        return f"{installed.title} ({guid})" if installed else guid

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
