"""The commands that change nothing. Each returns a `Report`; nothing here prints."""

from collections.abc import Mapping
from typing import Any

from modhub_get import answers
from modhub_get.answers import InstallPlan
from modhub_get.installation import LocalMod, ModInstallation
from modhub_get.outcome import ExitCode
from modhub_get.plans import ask_plan, ask_updates, unneeded
from modhub_get.reports import Report
from modhub_get.service import ModhubService


def search_mods(service: ModhubService, query: Mapping[str, Any]) -> Report:
    """``search``: one page of the list."""
    total, mods = service.get("/api/modhub", query, answers.decode_list)
    lines = [f"{mod['guid']}  {mod['title']} {mod['version']}".rstrip() for mod in mods]
    return Report([*lines, f"{len(mods)} of {total} mods"], {"total": total, "mods": mods}, answers=True)


def check_mods(service: ModhubService | None, installation: ModInstallation, *, allow_conflicts: bool) -> Report:
    """``check``: whether the files are whole, and what an update would do; without ``service`` only the former."""
    mods = installation.state.mods
    damaged = [guid for guid, mod in mods.items() if not installation.is_intact(mod)]
    lines = [f"Damaged or missing here: {_name(guid, mods)}" for guid in damaged]
    fields: dict[str, list[Any]] = {"damaged": damaged, "changed": [], "gone": []}
    if service is not None:
        updates = ask_updates(service, mods)
        lines += [f"Update: {_name(_guid(mod), mods)} {mod.get('version', '')}".rstrip() for mod in updates.changed]
        lines += [f"No longer on the service: {_name(guid, mods)}" for guid in updates.gone]
        fields |= {"changed": list(updates.changed), "gone": list(updates.gone)}
        requested = [mod.guid for mod in mods.values() if mod.wanted]
        if requested:
            plan = ask_plan(service, requested, mods.values())
            lines += _add_plan(fields, plan, mods, allow_conflicts=allow_conflicts)
    differs = any(fields.values())
    same = len(mods) - len({*damaged, *fields["gone"], *(_guid(mod) for mod in fields["changed"])})
    summary = f"{same} of {len(mods)} mods are as they should be."
    return Report([*lines, summary], {**fields, "same": same}, ExitCode.DIFFERENT if differs else ExitCode.DONE)


def _add_plan(
    fields: dict[str, list[Any]], plan: InstallPlan, mods: Mapping[str, LocalMod], *, allow_conflicts: bool
) -> list[str]:
    """Add what the update check does not tell: other requirements and conflicts. Returns the lines for people."""
    required = [step for step in plan.steps if step.guid not in mods]
    conflicts = [] if allow_conflicts else list(plan.conflicts)
    missing = [gap for gap in plan.missing if _guid(gap) not in fields["gone"]]
    removed = unneeded(mods, plan)
    fields |= {
        "required": [{"guid": step.guid, "because": list(step.because)} for step in required],
        "conflicts": conflicts,
        "missing": missing,
        "unneeded": [mod.guid for mod in removed],
    }
    pairs = [[_name(_guid(mod), mods) for mod in conflict["pair"]] for conflict in conflicts]
    return [
        *(f"Newly required by {_name(step.because[-1], mods)}: {step.guid}" for step in required if step.because),
        *(f"In conflict: {' and '.join(pair)}" for pair in pairs),
        *(f"Required, but not on the service: {_guid(gap)}" for gap in missing),
        *(f"No longer required: {_name(mod.guid, mods)}" for mod in removed),
    ]


def _name(guid: str, mods: Mapping[str, LocalMod]) -> str:
    return f"{mods[guid].title} ({guid})" if guid in mods else guid


def _guid(document: Mapping[str, Any]) -> str:
    return str(document["guid"]).lower()
