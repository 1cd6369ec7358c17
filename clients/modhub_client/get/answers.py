"""What the service answers, checked before anything is done with it. ``ValueError`` says what makes no sense."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from modhub_client.get.lockfile import LockEntry, parse_lock
from modhub_client.get.outcome import ExitCode
from modhub_client.get.service import is_own_path
from modhub_client.names import clean_name, is_sha256, is_single_segment, parse_guid
from modhub_client.output import ClientError

ACTIONS: Final = frozenset({"install", "update", "keep"})


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A step of a plan. ``because``: the path of GUIDs from a wanted mod to the one that requires it, or empty.

    The action is one of `ACTIONS`, or ``wait`` if the file is too young for ``--cooldown``.
    """

    guid: str
    action: str
    because: tuple[str, ...]
    uploaded_at: str


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """What has to be done, in this order. ``locked`` has the file of every step by GUID.

    ``missing`` is neither on the service nor installed; ``still_installed`` is only installed.
    """

    steps: tuple[PlanStep, ...]
    conflicts: tuple[Any, ...]
    missing: tuple[Mapping[str, Any], ...]
    still_installed: tuple[str, ...]
    locked: Mapping[str, LockEntry]

    @property
    def changes(self) -> list[PlanStep]:
        """The steps that put a file in place."""
        return [step for step in self.steps if step.action in {"install", "update"}]

    @property
    def waiting(self) -> list[PlanStep]:
        """The steps that are left out because a file is too young."""
        return [step for step in self.steps if step.action == "wait"]

    @property
    def not_served(self) -> list[Mapping[str, Any]]:
        """All that is not on the service, as ``missing`` has it."""
        return [*self.missing, *({"guid": guid, "requiredBy": []} for guid in self.still_installed)]


@dataclass(frozen=True, slots=True)
class RemoteMod:
    """A mod as the service describes it; ``bytes``, ``name`` and ``path`` are those of its code file."""

    guid: str
    id: int
    title: str
    version: str
    requires: tuple[str, ...]
    name: str
    bytes: int
    path: str


@dataclass(frozen=True, slots=True)
class StandingAdvisory:
    """What the service knows of a file."""

    sha256: str
    kind: str
    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class UpdateCheck:
    """What has changed among the installed mods."""

    changed: tuple[Mapping[str, Any], ...]
    gone: tuple[str, ...]


def decode_plan(answer: Any) -> InstallPlan:
    """``POST /api/modhub/plan``"""
    steps = tuple(_step(step) for step in _objects(answer, "steps"))
    locked = {entry.guid: entry for entry in parse_lock(_field(answer, "lock", dict))}
    if not {step.guid for step in steps} <= locked.keys():
        raise ValueError("the lock lacks a step of the plan")
    missing = tuple(_objects(answer, "missing"))
    for item in missing:
        _guid_of(item)
    still_installed = tuple(_field(answer, "stillInstalled", list))
    if not all(isinstance(guid, str) for guid in still_installed):
        raise ValueError("stillInstalled is not a list of GUIDs")
    conflicts = tuple(_objects(answer, "conflicts"))
    for conflict in conflicts:
        for mod in _objects(conflict, "pair"):
            _guid_of(mod)
    return InstallPlan(steps, conflicts, missing, still_installed, locked)


def merge_plans(plans: Sequence[InstallPlan]) -> InstallPlan:
    """One plan for all that was wanted; a service plans for at most 500 wanted mods at a time."""
    steps = {step.guid: step for plan in plans for step in plan.steps}
    return InstallPlan(
        steps=tuple(steps.values()),
        conflicts=tuple(conflict for plan in plans for conflict in plan.conflicts),
        missing=tuple({_guid_of(gap): gap for plan in plans for gap in plan.missing}.values()),
        still_installed=tuple(dict.fromkeys(guid for plan in plans for guid in plan.still_installed)),
        locked={guid: entry for plan in plans for guid, entry in plan.locked.items()},
    )


def decode_mods(answer: Any, asked: Collection[str]) -> tuple[dict[str, RemoteMod], list[str]]:
    """``POST /api/modhub/lookup``: the mods by GUID, without those that are missing, and the GUIDs to ask for again."""
    mods = {mod.guid: mod for mod in (_mod(mod) for mod in _objects(answer, "mods"))}
    more = [_guid(guid) for guid in _field(answer, "more", list)] if "more" in answer else []
    if not {*mods, *more} <= set(asked):
        raise ValueError("a mod that was not asked for")
    if more and (not mods or not mods.keys().isdisjoint(more) or len(set(more)) < len(more)):
        raise ValueError("asking again would never end")
    return mods, more


def decode_updates(answer: Any, asked: Collection[str]) -> UpdateCheck:
    """``POST /api/modhub/updates``"""
    changed = tuple(_objects(answer, "changed"))
    gone = tuple(_guid(guid) for guid in _field(answer, "gone", list))
    if not {*gone, *(_guid_of(update) for update in changed)} <= set(asked):
        raise ValueError("a mod that was not asked for")
    return UpdateCheck(changed, gone)


def decode_advisories(answer: Any) -> list[StandingAdvisory]:
    """``GET /api/modhub/advisories`` and ``…/{prefix}``: those that stand."""
    standing = []
    for advisory in _objects(answer, "advisories"):
        sha256, kind, reason, advice = (_field(advisory, name, str) for name in ("sha256", "kind", "reason", "advice"))
        if not is_sha256(sha256):
            raise ValueError("something that is no SHA-256")
        if advisory.get("withdrawnAt") is None:
            standing.append(StandingAdvisory(sha256, kind, reason, advice))
    return standing


def decode_lock_check(answer: Any) -> dict[str, str]:
    """``POST /api/modhub/plan/check``: ``same``, ``replaced`` or ``gone`` by GUID."""
    states = {_guid_of(entry): _field(entry, "state", str) for entry in _objects(answer, "entries")}
    if not set(states.values()) <= {"same", "replaced", "gone"}:
        raise ValueError("an unknown state")
    return states


def decode_list(answer: Any) -> tuple[int, list[Mapping[str, Any]]]:
    """``GET /api/modhub``: the number of all matches, and the mods of this page."""
    mods = _objects(answer, "mods")
    for mod in mods:
        _guid_of(mod)
        _field(mod, "title", str)
        _field(mod, "version", str)
    return _field(answer, "total", int), mods


def decode_shown(answer: Any) -> Mapping[str, Any]:
    """``GET /api/modhub/{id}``: the mod, with what is shown of it checked."""
    _guid(_field(answer, "guid", str))
    for name, kind in (("id", int), ("title", str), ("version", str), ("url", str), ("updatedAt", str)):
        _field(answer, name, kind)
    for name in ("games", "requires", "conflictsWith"):
        if not all(isinstance(item, str) for item in _field(answer, name, list)):
            raise ValueError(f"{name} has something else than text")
    for asset in _objects(answer, "assets"):
        for name, kind in (("kind", str), ("name", str), ("bytes", int)):
            _field(asset, name, kind)
    mod: Mapping[str, Any] = answer
    return mod


def check_file(mod: RemoteMod, most_bytes: int) -> None:
    """Refuse a file that no honest service offers."""
    if not is_single_segment(mod.name):
        raise ClientError(
            ExitCode.BAD_ANSWER, f"{mod.guid}: the service sent an unsafe file name; nothing was changed."
        )
    if not is_own_path(mod.path):
        raise ClientError(
            ExitCode.BAD_ANSWER, f"{mod.guid}: the service sent an address elsewhere; nothing was changed."
        )
    if mod.bytes > most_bytes:
        sentence = f"{mod.guid}: the file would have {mod.bytes} bytes, more than --max-bytes allows."
        raise ClientError(ExitCode.BAD_ANSWER, sentence)


def _step(step: Mapping[str, Any]) -> PlanStep:
    action = _field(step, "action", str)
    if action not in ACTIONS:
        raise ValueError("an unknown action")
    because = tuple(_guid(guid) for guid in _field(step, "because", list))
    return PlanStep(_guid_of(step), action, because, _field(step, "uploadedAt", str))


def _mod(mod: Mapping[str, Any]) -> RemoteMod:
    code = next((asset for asset in _objects(mod, "assets") if asset.get("kind") == "code"), None)
    if code is None:
        raise ValueError("a mod without a code file")
    size = _field(code, "bytes", int)
    if size < 1:
        raise ValueError("a file without content")
    return RemoteMod(
        guid=_guid_of(mod),
        id=_field(mod, "id", int),
        title=_field(mod, "title", str),
        version=_field(mod, "version", str),
        requires=tuple(_guid(guid) for guid in _field(mod, "requires", list)),
        name=_field(code, "name", str),
        bytes=size,
        path=_field(code, "url", str),
    )


def local_name(mod: RemoteMod) -> str:
    """The name under which the file is kept."""
    return clean_name(mod.name)


def _field(value: Any, name: str, kind: type) -> Any:
    field_value = value.get(name) if isinstance(value, dict) else None
    if not isinstance(field_value, kind) or (isinstance(field_value, bool) and kind is int):
        raise ValueError(f"{name} is missing or of the wrong type")
    return field_value


def _objects(value: Any, name: str) -> list[Mapping[str, Any]]:
    items = _field(value, name, list)
    if not all(isinstance(item, dict) for item in items):
        raise ValueError(f"{name} has something else than objects")
    return list(items)


def _guid_of(value: Mapping[str, Any]) -> str:
    return _guid(value.get("guid"))


def _guid(value: Any) -> str:
    guid = parse_guid(value) if isinstance(value, str) else None
    if guid is None:
        raise ValueError("something that is no GUID")
    return guid
