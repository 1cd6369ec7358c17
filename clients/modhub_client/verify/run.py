"""What a check is given: the service, its features, samples of its content, and the credentials of the caller."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from modhub_client.verify.credentials import RunCredentials
from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.replies import Reply
from modhub_client.verify.service import VerifiedService

Undo = Callable[[], object]
UNKNOWN_GUID: Final = "00000000-0000-4000-8000-000000000000"
"""A GUID that no mod has."""
UNKNOWN_ID: Final = 9_007_199_254_740_993
"""A number that nothing has."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the caller chose. ``may_leave_traces``: whether what cannot be removed again may be published."""

    may_leave_traces: bool = False
    interface_only: bool = False


@dataclass
class Run:
    """One run. Checks of the parts ``read`` and ``follow`` run in several threads and change nothing."""

    service: VerifiedService
    features: frozenset[str]
    options: RunOptions = field(default_factory=RunOptions)
    credentials: RunCredentials = field(default_factory=RunCredentials)
    notes: dict[str, Any] = field(default_factory=dict)
    """What checks of one part leave for later ones."""
    _undo: list[Undo] = field(default_factory=list)

    def undo_later(self, step: Undo) -> None:
        """Call ``step`` when the run ends, however it ends; the last one first. It may be called twice."""
        self._undo.append(step)

    def undo_all(self) -> Iterator[Exception]:
        """Undo everything, and yield what went wrong."""
        while self._undo:
            try:
                # It stays in the list while it runs: a second Ctrl-C must not end it for good.
                self._undo[-1]()
            except Exception as problem:  # noqa: BLE001 - the other steps have to be undone
                yield problem
            self._undo.pop()

    def renewed(self) -> "Run":
        """The same run, which reads its samples of the catalogue once more."""
        return Run(self.service, self.features, self.options, self.credentials, self.notes, self._undo)

    # What the catalogue has. It is read once; content that a check needs and nobody published is no fault.

    @cached_property
    def listed(self) -> Reply:
        """The first hundred mods."""
        return self.service.get("/api/modhub?size=100").expect(200)

    @cached_property
    def description(self) -> dict[str, Any]:
        """The description of the API; empty without one."""
        reply = self.service.get("/api/openapi.json")
        return reply.document() if reply.status == 200 else {}

    @property
    def mods(self) -> list[dict[str, Any]]:
        """The mods of `listed`; `Skipped` if none is published."""
        mods = self.listed.document().get("mods")
        if not isinstance(mods, list) or not mods:
            raise Skipped("no mod is published")
        return mods

    def find_mod(self, needed: str, fits: Callable[[dict[str, Any]], object] = bool) -> dict[str, Any]:
        """A published mod that fits; `Skipped` if none of the newest hundred does. ``needed`` says what for."""
        for mod in self.mods:
            if fits(mod):
                return mod
        raise Skipped(f"no mod of the newest hundred has {needed}")

    @cached_property
    def a_mod(self) -> dict[str, Any]:
        """The mod that was changed last."""
        return self.mods[0]

    @property
    def mod_path(self) -> str:
        """``/api/modhub/{id}`` of `a_mod`."""
        return f"/api/modhub/{self.a_mod['id']}"

    @cached_property
    def code_mod(self) -> dict[str, Any]:
        """A published mod with a small code file, if there is one: files are downloaded."""
        return min(self.mods, key=lambda mod: find_asset(mod, "code").get("bytes", 1 << 40))

    @property
    def code_file(self) -> dict[str, Any]:
        """The code file of `code_mod`; `Skipped` if no mod has one."""
        file = find_asset(self.code_mod, "code")
        if not file:
            raise Skipped("no mod has a code file")
        return file

    @cached_property
    def a_file(self) -> Reply:
        """The headers of `code_file`."""
        return self.service.head(self.code_file["url"]).expect(200)


def find_asset(mod: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first asset of a kind; empty if the mod has none."""
    return next((asset for asset in mod["assets"] if asset["kind"] == kind), {})
