"""What the service is asked about an installation, in as many calls as its limits need, and what follows from it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeVar

from modhub_client.get import answers
from modhub_client.get.answers import InstallPlan, PlanStep, RemoteMod, StandingAdvisory, UpdateCheck
from modhub_client.get.installation import InstallationState, LocalMod
from modhub_client.get.outcome import ExitCode
from modhub_client.get.service import ModhubService
from modhub_client.names import REFERENCE_KINDS, ModReference, parse_reference, refuse_elsewhere
from modhub_client.output import ClientError, WrongUse

LOOKUP: Final = 100
"""Mods in one lookup: at most 500 are allowed, but their descriptions make large answers."""
AT_ONCE: Final = 500
"""Wanted mods of one plan, and mods of one update check."""
ASKED_DIGITS: Final = 5
"""Digits that a question has."""
QUESTIONS: Final = 32
"""Questions at most: instead of more, all advisories are read."""
_ADVISORIES: Final = "/api/modhub/advisories"
_T = TypeVar("_T")


def ask_plan(service: ModhubService, requested: Sequence[str], installed: Iterable[LocalMod]) -> InstallPlan:
    """What has to be done to have ``requested`` beside what is installed."""
    have = _have(installed)
    plans = [
        service.post("/api/modhub/plan", {"want": batch, "have": have}, answers.decode_plan)
        for batch in _in_batches(requested, AT_ONCE)
    ]
    return answers.merge_plans(plans)


def leave_out_young(
    service: ModhubService, plan: InstallPlan, mods: Mapping[str, LocalMod], oldest: datetime
) -> InstallPlan:
    """The plan without files uploaded after ``oldest``, and without what requires a mod that is then not installed."""
    installed = {guid: mod.sha256 for guid, mod in mods.items()}
    new = [step for step in plan.changes if plan.locked[step.guid].sha256 != installed.get(step.guid)]
    young = {step.guid for step in new if _is_after(step, oldest)}
    absent = young - installed.keys()
    described = look_up(service, [step.guid for step in new]) if absent else {}
    while requirers := {guid for guid, mod in described.items() if absent.intersection(mod.requires)} - young:
        young |= requirers
        absent = young - installed.keys()
    steps = [replace(step, action="wait") if step.guid in young else step for step in plan.steps]
    return replace(plan, steps=tuple(steps))


def _is_after(step: PlanStep, moment: datetime) -> bool:
    try:
        return datetime.fromisoformat(step.uploaded_at) > moment
    except (TypeError, ValueError):
        raise ClientError(ExitCode.BAD_ANSWER, f"{step.guid}: the service does not say when it got the file.") from None


def ask_updates(service: ModhubService, mods: Mapping[str, LocalMod]) -> UpdateCheck:
    """Which files have changed on the service, and which mods have gone."""
    changed: list[Mapping[str, Any]] = []
    gone: list[str] = []
    decode = partial(answers.decode_updates, asked=mods.keys())
    for batch in _in_batches(_have(mods.values()), AT_ONCE):
        updates = service.post("/api/modhub/updates", {"have": batch}, decode)
        changed += updates.changed
        gone += updates.gone
    return UpdateCheck(tuple(changed), tuple(gone))


def look_up(service: ModhubService, guids: Sequence[str]) -> dict[str, RemoteMod]:
    """These mods, without those that are not on the service."""
    mods_by_guid: dict[str, RemoteMod] = {}
    waiting = list(guids)
    while waiting:
        batch = waiting[:LOOKUP]
        decode = partial(answers.decode_mods, asked=batch)
        mods, more = service.post("/api/modhub/lookup", {"guids": batch}, decode)
        mods_by_guid |= mods
        waiting = [*more, *waiting[LOOKUP:]]
    return mods_by_guid


def parse_references(words: list[str]) -> list[ModReference]:
    """As `parse_reference`; a word that is nothing of the kind ends the run."""
    references = [(word, parse_reference(word)) for word in words]
    if wrong := [word for word, reference in references if reference is None]:
        sentence = f"Not {REFERENCE_KINDS}: {', '.join(wrong)}. Titles are for search, show and list."
        raise WrongUse(sentence)
    return [reference for _, reference in references if reference is not None]


def resolve_remote(service: ModhubService, references: list[ModReference]) -> list[str]:
    """The GUIDs, each once; the service knows those of numbers."""
    for reference in references:
        refuse_elsewhere(reference, service.url)
    return list(dict.fromkeys(reference.guid or _ask_guid(service, reference) for reference in references))


def resolve_installed(state: InstallationState, references: list[ModReference]) -> list[str]:
    """The GUIDs, each once; the folder knows the numbers of what is installed."""
    guids = {mod.id: guid for guid, mod in state.mods.items()}
    for reference in references:
        refuse_elsewhere(reference, state.url)
        if not reference.guid and reference.id not in guids:
            raise ClientError(ExitCode.NOT_AVAILABLE, f"Not installed: {reference.word}. Nothing was changed.")
    return list(dict.fromkeys(reference.guid or guids[reference.id] for reference in references))


def _ask_guid(service: ModhubService, reference: ModReference) -> str:
    mod = service.find(f"/api/modhub/{reference.id}", answers.decode_shown)
    if mod is None:
        sentence = f"There is no mod {reference.id} on {service.url}. Nothing was changed."
        raise ClientError(ExitCode.NOT_AVAILABLE, sentence)
    return str(mod["guid"]).lower()


def closure(mods: Mapping[str, LocalMod], roots: Collection[str]) -> set[str]:
    """The installed mods that ``roots`` require, themselves included."""
    guids_seen: set[str] = set()
    waiting = [guid for guid in roots if guid in mods]
    while waiting:
        guid = waiting.pop()
        if guid not in guids_seen:
            guids_seen.add(guid)
            waiting += [required for required in mods[guid].requires if required in mods]
    return guids_seen


def unneeded(mods: Mapping[str, LocalMod], plan: InstallPlan) -> list[LocalMod]:
    """The installed mods that nobody asked for and nothing requires any more."""
    missing = {str(gap["guid"]).lower() for gap in plan.not_served}
    # What a mod requires that has gone from the service is not known any more: nothing of it is removed.
    kept = {step.guid for step in plan.steps} | closure(mods, missing)
    return [mod for guid, mod in mods.items() if guid not in kept and not mod.wanted]


def ask_advisories(service: ModhubService, digests: Iterable[str]) -> dict[str, StandingAdvisory]:
    """The advisories about files with these digests; none from a service that has no advisories.

    It is asked by the first digits of a SHA-256, so that it does not learn what is here.
    """
    asked = set(digests)
    prefixes = sorted({digest[:ASKED_DIGITS] for digest in asked})
    paths = [f"{_ADVISORIES}/{prefix}" for prefix in prefixes] if len(prefixes) <= QUESTIONS else [_ADVISORIES]
    known: dict[str, StandingAdvisory] = {}
    for path in paths:
        advisories = service.find(path, answers.decode_advisories)
        if advisories is None:
            break
        known |= {advisory.sha256: advisory for advisory in advisories if advisory.sha256 in asked}
    return known


def describe_advisory(guid: str, advisory: StandingAdvisory) -> dict[str, Any]:
    """The advisory about the file of a mod as a JSON object."""
    return {"guid": guid, **asdict(advisory)}


def _have(mods: Iterable[LocalMod]) -> list[dict[str, str]]:
    return [{"guid": mod.guid, "version": mod.version, "sha256": mod.sha256} for mod in mods]


def _in_batches(values: Sequence[_T], size: int) -> Iterator[list[_T]]:
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
