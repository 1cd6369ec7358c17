"""The commands that change a folder. Each returns a `Report`; nothing here prints."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from modhub_client.get import answers
from modhub_client.get.answers import InstallPlan
from modhub_client.get.installation import InstallationState, LocalMod, ModInstallation
from modhub_client.get.installer import AppliedPlan, Installer
from modhub_client.get.lockfile import LockEntry, build_lock, write_lock
from modhub_client.get.outcome import ExitCode, Report
from modhub_client.get.plans import closure, look_up, unneeded
from modhub_client.get.transfer import FileReplaced
from modhub_client.output import ClientError


def preview_plan(installer: Installer, guids: list[str], *, update: bool) -> Report:
    """``install`` and ``update`` with ``--dry-run``: what they would do. Nothing is downloaded or changed."""
    if not guids:
        return Report(["Nothing would change."], {"dryRun": True, "install": [], "update": [], "remove": []})
    plan = installer.ask(guids)
    steps = _describe_steps(installer, plan)
    removed = _unneeded(installer.installation, plan) if update else []
    lines = [
        f"Would {action} {mod['title']} {mod['version']} ({mod['guid']}), {mod['bytes']} bytes"
        for action, listed in steps.items()
        for mod in listed
    ]
    lines += [f"Would remove {mod.title} ({mod.guid})" for mod in removed]
    lines += [f"Not on the service: {gap['guid']}" for gap in plan.not_served] + _waiting_lines(plan)
    listed = {"remove": [mod.guid for mod in removed], "missing": plan.not_served, "conflicts": list(plan.conflicts)}
    code = ExitCode.NOT_AVAILABLE if plan.not_served and update else ExitCode.DONE
    fields = {"dryRun": True, **steps, **listed, **(_waiting_fields(plan) if update else {})}
    return Report(lines or ["Nothing would change."], fields, code)


def _describe_steps(installer: Installer, plan: InstallPlan) -> dict[str, list[Mapping[str, Any]]]:
    steps = plan.changes
    mods = look_up(installer.service, [step.guid for step in steps])
    described: dict[str, list[Mapping[str, Any]]] = {"install": [], "update": []}
    for step in steps:
        mod = mods.get(step.guid)
        if mod is None:
            raise ClientError(ExitCode.NOT_AVAILABLE, f"{step.guid} has gone from the service just now.")
        facts = {"guid": mod.guid, "id": mod.id, "title": mod.title, "version": mod.version, "bytes": mod.bytes}
        described[step.action].append(facts)
    return described


def install_mods(installer: Installer, guids: list[str]) -> Report:
    """``install MOD…``: these mods, and all that they require."""
    return _report(installer.installation, installer.follow_plan(guids))


def install_lock(installer: Installer, entries: list[LockEntry], *, dry_run: bool) -> Report:
    """``install --lock FILE``: exactly the files of the lock, or nothing. Needs no service if all are there."""
    installation = installer.installation
    intact = installer.intact()
    needed = [entry for entry in entries if entry.guid not in intact or intact[entry.guid].sha256 != entry.sha256]
    placed: tuple[LocalMod, ...] = ()
    if needed:
        states = installer.service.post(
            "/api/modhub/plan/check", {"lock": build_lock(entries)}, answers.decode_lock_check
        )
        changed = [{"guid": entry.guid, "state": states.get(entry.guid, "gone")} for entry in needed]
        changed = [change for change in changed if change["state"] != "same"]
        if changed:
            changes = ", ".join(f"{change['guid']} ({change['state']})" for change in changed[:10])
            sentence = f"The service no longer has what the lock names: {changes}. Nothing was changed."
            raise ClientError(ExitCode.NOT_AVAILABLE, sentence, entries=changed)
        installer.refuse_advised(needed)
        if not dry_run:
            placed = _place_locked(installer, needed)
    if dry_run:
        lines = [f"Would install {entry.guid} {entry.version}" for entry in needed]
        planned = [{"guid": entry.guid, "version": entry.version} for entry in needed]
        return Report(lines or ["Nothing would change."], {"dryRun": True, "install": planned})
    installer.mark_wanted(_roots(installation.state.mods, [entry.guid for entry in entries]))
    return Report(
        [_line("Installed", installation, mod) for mod in placed] or ["Everything of the lock is installed."],
        {
            "installed": [installation.describe(mod) for mod in placed],
            "kept": len(entries) - len(placed),
            "edited": _copies(installation),
        },
        notices=_copy_notices(installation),
    )


def update_mods(installer: Installer, *, dry_run: bool) -> Report:
    """``update``: the newest files of all that was asked for; what nothing requires any more is removed."""
    installation = installer.installation
    requested = [mod.guid for mod in installation.state.mods.values() if mod.wanted]
    if dry_run:
        return preview_plan(installer, requested, update=True)
    if not requested:
        return Report(["Nothing is installed."], {"installed": [], "updated": [], "removed": [], "missing": []})
    before = installation.state
    applied = installer.follow_plan(requested)
    removed = _unneeded(installation, applied.plan)
    _drop(installation, removed, before.mods)
    return _report(installation, applied, before, removed)


def undo_update(installation: ModInstallation, *, dry_run: bool) -> Report:
    """``undo``: the files that the last update replaced or removed, all of them. Needs no service.

    What the update newly installed stays, until an update or `remove` finds that nothing requires it.
    """
    state = installation.state
    restored = [
        replace(mod, wanted=mod.wanted or (guid in state.mods and state.mods[guid].wanted))
        for guid, mod in state.before.items()
    ]
    if not restored:
        raise ClientError(ExitCode.NOT_AVAILABLE, "There is no update to undo. Nothing was changed.")
    if dry_run:
        lines = [f"Would put back {mod.title} {mod.version} ({mod.guid})" for mod in restored]
        return Report(lines, {"dryRun": True, "restore": [mod.guid for mod in restored]})
    installation.prepare_kept(restored)
    installation.apply(InstallationState(state.url, {**state.mods, **{mod.guid: mod for mod in restored}}), restored)
    return Report(
        [_line("Put back", installation, mod) for mod in restored],
        {"restored": [installation.describe(mod) for mod in restored], "edited": _copies(installation)},
        notices=_copy_notices(installation),
    )


def remove_mods(installation: ModInstallation, guids: list[str], *, dry_run: bool) -> Report:
    """``remove MOD…``: these mods, and what was installed only because they require it. Needs no service."""
    mods = installation.state.mods
    if absent := [guid for guid in guids if guid not in mods]:
        raise ClientError(ExitCode.NOT_AVAILABLE, f"Not installed: {', '.join(absent)}. Nothing was changed.")
    others = {guid for guid, mod in mods.items() if mod.wanted and guid not in guids}
    kept = closure(mods, others)
    if needed := [guid for guid in guids if guid in kept]:
        asking = [mod.title for mod in mods.values() if mod.guid in kept and set(needed) & set(mod.requires)]
        sentence = f"Still required by {', '.join(sorted(asking)[:10])}. Nothing was changed."
        raise ClientError(ExitCode.CONFLICT, sentence, required=needed)
    removed = [mod for guid, mod in mods.items() if guid not in kept]
    if dry_run:
        fields = {"dryRun": True, "remove": [mod.guid for mod in removed]}
        return Report([f"Would remove {mod.title} ({mod.guid})" for mod in removed], fields)
    _drop(installation, removed)
    return Report(
        [f"Removed {mod.title} ({mod.guid})" for mod in removed],
        {"removed": [mod.guid for mod in removed], "edited": _copies(installation)},
        notices=_copy_notices(installation),
    )


def export_lock(installation: ModInstallation) -> str:
    """``export-lock``: the text of the lock file of what is installed. Needs no service."""
    return write_lock(LockEntry(mod.guid, mod.version, mod.sha256) for mod in installation.state.mods.values())


def _place_locked(installer: Installer, needed: list[LockEntry]) -> tuple[LocalMod, ...]:
    try:
        return installer.place(needed, [], recheck=False)
    except FileReplaced as replaced:
        sentence = f"{replaced} was replaced on the service just now. Nothing was changed."
        raise ClientError(ExitCode.NOT_AVAILABLE, sentence) from None


def _roots(mods: Mapping[str, LocalMod], guids: list[str]) -> list[str]:
    """Those that no other of ``guids`` requires; all, if that would leave out a circle."""
    roots = set(guids) - {required for guid in guids for required in mods[guid].requires if required != guid}
    return list(roots if set(guids) <= closure(mods, roots) else guids)


def _unneeded(installation: ModInstallation, plan: InstallPlan) -> list[LocalMod]:
    """What an update removes: nothing that the present file of a mod requires whose new one is left out."""
    mods = installation.state.mods
    kept = closure(mods, [step.guid for step in plan.waiting])
    return [mod for mod in unneeded(mods, plan) if mod.guid not in kept]


def _waiting_lines(plan: InstallPlan) -> list[str]:
    return [
        f"Left out for now: {step.guid} {plan.locked[step.guid].version}, uploaded {step.uploaded_at}"
        for step in plan.waiting
    ]


def _waiting_fields(plan: InstallPlan) -> dict[str, Any]:
    waiting = [(step, plan.locked[step.guid]) for step in plan.waiting]
    return {
        "waiting": [
            {"guid": step.guid, "version": entry.version, "uploadedAt": step.uploaded_at} for step, entry in waiting
        ]
    }


def _drop(
    installation: ModInstallation, removed: list[LocalMod], updated: Mapping[str, LocalMod] | None = None
) -> None:
    if removed:
        left = {guid: mod for guid, mod in installation.state.mods.items() if mod not in removed}
        installation.apply(InstallationState(installation.state.url, left), [], updated)


def _report(
    installation: ModInstallation,
    applied: AppliedPlan,
    before: InstallationState | None = None,
    removed: list[LocalMod] | None = None,
) -> Report:
    updates = {step.guid for step in applied.plan.steps if step.action == "update"}
    installed = [mod for mod in applied.placed if mod.guid not in updates]
    updated = [mod for mod in applied.placed if mod.guid in updates]
    lines = [_line("Installed", installation, mod) for mod in installed]
    lines += [_line("Updated", installation, mod) for mod in updated]
    lines += [f"Removed {mod.title} ({mod.guid})" for mod in removed or ()]
    lines += [f"Not on the service: {entry['guid']}" for entry in applied.plan.not_served]
    lines += _waiting_lines(applied.plan)
    fields = {
        "installed": [installation.describe(mod) for mod in installed],
        "updated": [installation.describe(mod) for mod in updated],
        "kept": sum(step.action == "keep" for step in applied.plan.steps),
        "removed": [mod.guid for mod in removed or ()],
        "missing": applied.plan.not_served,
        "conflicts": list(applied.plan.conflicts),
        "edited": _copies(installation),
        **(_waiting_fields(applied.plan) if before is not None else {}),
    }
    code = ExitCode.NOT_AVAILABLE if before is not None and applied.plan.not_served else ExitCode.DONE
    return Report(lines or ["Everything is up to date."], fields, code, notices=_copy_notices(installation))


def _copies(installation: ModInstallation) -> list[Mapping[str, str]]:
    return [{"guid": mod.guid, "path": str(copy)} for mod, copy in installation.copies]


def _copy_notices(installation: ModInstallation) -> list[str]:
    return [f"{mod.title} was edited here; a copy of the edited file is {copy}" for mod, copy in installation.copies]


def _line(verb: str, installation: ModInstallation, mod: LocalMod) -> str:
    return f"{verb} {mod.title} {mod.version}: {installation.path_of(mod)}"
