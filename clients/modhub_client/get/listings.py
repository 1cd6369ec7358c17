"""The commands that change nothing. Each returns a `Report`; nothing here prints."""

from collections.abc import Mapping
from typing import Any

from modhub_client.get import answers
from modhub_client.get.answers import InstallPlan
from modhub_client.get.installation import LocalMod, ModInstallation
from modhub_client.get.outcome import ExitCode, Report
from modhub_client.get.plans import ask_advisories, ask_plan, ask_updates, describe_advisory, resolve_remote, unneeded
from modhub_client.get.service import ModhubService
from modhub_client.names import parse_reference
from modhub_client.output import ClientError


def search_mods(service: ModhubService, query: Mapping[str, Any]) -> Report:
    """``search``: one page of the list."""
    total, mods = service.get("/api/modhub", query, answers.decode_list)
    lines = [f"{mod['guid']}  {mod['title']} {mod['version']}".rstrip() for mod in mods]
    return Report([*lines, f"{len(mods)} of {total} mods"], {"total": total, "mods": mods}, answers=True)


def list_mods(installation: ModInstallation, words: str) -> Report:
    """``list``: what is installed, with these words in the title. Needs no service."""
    mods = [mod for mod in installation.state.mods.values() if words.casefold() in mod.title.casefold()]
    mods.sort(key=lambda mod: (mod.title.casefold(), mod.guid))
    lines = [f"{mod.guid}  {mod.title} {mod.version}{'' if mod.wanted else ' (required)'}" for mod in mods]
    fields = {"mods": [{**installation.describe(mod), "requested": mod.wanted} for mod in mods]}
    return Report([*lines, f"{len(mods)} of {len(installation.state.mods)} mods"], fields, answers=True)


def list_outdated(service: ModhubService, installation: ModInstallation) -> Report:
    """``outdated``: what has another file on the service, or has gone from it."""
    mods = installation.state.mods
    updates = ask_updates(service, mods)
    outdated = [
        {**installation.describe(mods[_guid(mod)]), "available": str(mod.get("version", ""))} for mod in updates.changed
    ]
    lines = [f"{mod['guid']}  {mod['title']} {mod['version']} -> {mod['available']}" for mod in outdated]
    lines += [f"{guid}  {mods[guid].title} {mods[guid].version} is no longer on the service" for guid in updates.gone]
    summary = f"{len(outdated)} of {len(mods)} mods are outdated."
    return Report([*lines, summary], {"outdated": outdated, "gone": list(updates.gone)}, answers=True)


def show_mod(service: ModhubService, words: str, installation: ModInstallation | None) -> Report:
    """``show``: a mod, by its title too."""
    reference = parse_reference(words)
    if reference is not None and reference.id:
        (guid,) = resolve_remote(service, [reference])
    else:
        guid = reference.guid if reference is not None else _find_title(service, words)
    mod = service.find(f"/api/modhub/guid/{guid}", answers.decode_shown)
    if mod is None:
        raise ClientError(ExitCode.NOT_AVAILABLE, f"There is no mod {guid} on {service.url}.")
    installed = installation.state.mods.get(guid) if installation is not None else None
    lines = [f"{mod['title']} {mod['version']}".rstrip(), *_facts(service, mod)]
    fields: dict[str, Any] = {"mod": mod, "installed": None}
    if installation is not None and installed is not None:
        lines.append(f"  installed  {installed.version}: {installation.path_of(installed)}")
        fields["installed"] = installation.describe(installed)
    return Report(lines, fields, answers=True)


def _find_title(service: ModhubService, title: str) -> str:
    _, mods = service.get("/api/modhub", {"q": title, "size": 100}, answers.decode_list)
    exact = [mod for mod in mods if str(mod["title"]).casefold() == title.strip().casefold()]
    matches = exact or mods
    if len(matches) == 1:
        return _guid(matches[0])
    listed = ", ".join(f"{mod['title']} ({mod['guid']})" for mod in matches[:10])
    sentence = f"Several mods match: {listed}. Name its GUID." if matches else f"No mod matches {title}."
    raise ClientError(ExitCode.NOT_AVAILABLE, sentence)


def _facts(service: ModhubService, mod: Mapping[str, Any]) -> list[str]:
    code = next((asset for asset in mod["assets"] if asset["kind"] == "code"), None)
    facts = {
        "GUID": mod["guid"],
        "number": str(mod["id"]),
        "page": service.url + mod["url"],
        "updated": mod["updatedAt"],
        "games": ", ".join(mod["games"]),
        "file": f"{code['name']}, {code['bytes']} bytes" if code else "",
        "requires": ", ".join(mod["requires"]),
        "excludes": ", ".join(mod["conflictsWith"]),
    }
    return [f"  {name:<9}  {value}" for name, value in facts.items() if value]


def check_mods(service: ModhubService | None, installation: ModInstallation, *, allow_conflicts: bool) -> Report:
    """``check``: whether the files are whole, what an update would do, and what the service warns of.

    Without ``service`` only the first.
    """
    mods = installation.state.mods
    damaged = [guid for guid, mod in mods.items() if not installation.is_intact(mod)]
    lines = [f"Damaged or missing here: {_name(guid, mods)}" for guid in damaged]
    fields: dict[str, list[Any]] = {"damaged": damaged, "changed": [], "gone": [], "advised": []}
    warnings: list[str] = []
    if service is not None:
        updates = ask_updates(service, mods)
        lines += [f"Update: {_name(_guid(mod), mods)} {mod.get('version', '')}".rstrip() for mod in updates.changed]
        lines += [f"No longer on the service: {_name(guid, mods)}" for guid in updates.gone]
        fields |= {"changed": list(updates.changed), "gone": list(updates.gone)}
        requested = [mod.guid for mod in mods.values() if mod.wanted]
        if requested:
            plan = ask_plan(service, requested, mods.values())
            lines += _add_plan(fields, plan, mods, allow_conflicts=allow_conflicts)
        known = ask_advisories(service, (mod.sha256 for mod in mods.values()))
        advised = [(mod, known[mod.sha256]) for mod in mods.values() if mod.sha256 in known]
        fields["advised"] = [describe_advisory(mod.guid, advisory) for mod, advisory in advised]
        lines += [f"Advised ({advisory.kind}): {_name(mod.guid, mods)}" for mod, advisory in advised]
        warnings = [f"warning: {mod.title}: {advisory.reason} {advisory.advice}" for mod, advisory in advised]
    code = ExitCode.ADVISED if warnings else ExitCode.DIFFERENT if any(fields.values()) else ExitCode.DONE
    wrong = {*damaged, *fields["gone"], *(_guid(mod) for mod in (*fields["changed"], *fields["advised"]))}
    same = len(mods) - len(wrong)
    summary = f"{same} of {len(mods)} mods are as they should be."
    return Report([*lines, summary], {**fields, "same": same}, code, notices=warnings)


def _add_plan(
    fields: dict[str, list[Any]], plan: InstallPlan, mods: Mapping[str, LocalMod], *, allow_conflicts: bool
) -> list[str]:
    """Add what the update check does not tell: other requirements and conflicts. Returns the lines for people."""
    required = [step for step in plan.steps if step.guid not in mods]
    conflicts = [] if allow_conflicts else list(plan.conflicts)
    missing = [gap for gap in plan.not_served if _guid(gap) not in fields["gone"]]
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
