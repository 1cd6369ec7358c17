"""Results of checks, and what they say about each clause."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.outcomes import VerifyExit


class CheckState(StrEnum):
    """How a check ended. What was not tried is never ``passed``."""

    BROKEN = "broken"
    PASSED = "passed"
    SKIPPED = "skipped"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check: what was expected and what came, or why it was not tried. ``seconds``: its duration."""

    check: ContractCheck
    state: CheckState
    detail: str = ""
    seconds: float = 0.0


@dataclass
class VerifyReport:
    """All results of a run; ``unreachable`` and ``left_behind`` say what ended it, and what could not be undone."""

    url: str
    features: frozenset[str]
    results: list[CheckResult]
    seconds: float = 0.0
    calls: int = 0
    unreachable: str = ""
    interrupted: bool = False
    left_behind: Sequence[str] = ()

    @property
    def code(self) -> VerifyExit:
        """The exit code. A run that was interrupted or lost the service is no proof, whatever it saw before."""
        if self.left_behind:
            return VerifyExit.BROKEN
        if self.interrupted:
            return VerifyExit.INTERRUPTED
        if self.unreachable:
            return VerifyExit.UNREACHABLE
        return VerifyExit.BROKEN if self.count(CheckState.BROKEN) else VerifyExit.KEPT

    def count(self, state: CheckState) -> int:
        """How many checks ended so."""
        return sum(result.state is state for result in self.results)

    def clauses(self) -> dict[str, CheckState]:
        """Each clause: broken if one of its checks is, else passed if one is, else skipped or absent."""
        states: dict[str, CheckState] = {}
        for state in reversed(CheckState):
            states |= {clause: state for result in self.results if result.state is state for clause in _of(result)}
        return dict(sorted(states.items(), key=lambda item: clause_order(item[0])))


def _of(result: CheckResult) -> Iterable[str]:
    return result.check.clauses


def clause_order(clause: str) -> tuple[str, int]:
    """Sorts C-MOD-9 before C-MOD-10."""
    family = clause.rstrip("0123456789")
    return family, int(clause.removeprefix(family))


def count_states(states: Iterable[CheckState]) -> Iterator[str]:
    """``90 passed``, for each state."""
    counted = Counter(states)
    for state in CheckState:
        yield f"{counted[state]} {state}"
