"""The results of checks, what they say about each clause, and the report of a run: lines, JSON, or JUnit's XML."""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from modhub_client import __version__
from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.replies import VerifyExit


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
            states |= {
                clause: state for result in self.results if result.state is state for clause in result.check.clauses
            }
        return dict(sorted(states.items(), key=lambda item: clause_order(item[0])))


def clause_order(clause: str) -> tuple[str, int]:
    """Sorts C-MOD-8 before C-MOD-12."""
    family = clause.rstrip("0123456789")
    return family, int(clause.removeprefix(family))


def count_states(states: Iterable[CheckState]) -> Iterator[str]:
    """``90 passed``, for each state."""
    counted = Counter(states)
    for state in CheckState:
        yield f"{counted[state]} {state}"


# Characters that XML 1.0 does not allow.
_UNFIT: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def result_line(result: CheckResult) -> str:
    """A result as one line."""
    line = f"{result.state:7} {', '.join(result.check.clauses)}: {result.check.name}"
    return f"{line}: {result.detail}" if result.detail else line


def summary_lines(report: VerifyReport) -> Iterator[str]:
    """What the run says in all."""
    states = report.clauses()
    for clause in (clause for clause, state in states.items() if state is CheckState.BROKEN):
        yield f"{clause} is broken."
    for problem in report.left_behind:
        yield f"Left behind: {problem}"
    if report.unreachable:
        yield report.unreachable
    yield f"Clauses: {', '.join(count_states(states.values()))}."
    checks = ", ".join(count_states(result.state for result in report.results))
    yield f"Checks: {checks}; {report.calls} calls in {report.seconds:.1f} seconds."


def json_report(report: VerifyReport) -> str:
    """The document of ``--json``, in ASCII: a service's text must not break an output, whatever its encoding is."""
    document = {
        "exit": int(report.code),
        "url": report.url,
        "version": __version__,
        "features": sorted(report.features),
        "seconds": round(report.seconds, 3),
        "calls": report.calls,
        "counts": {state.value: report.count(state) for state in CheckState},
        "clauses": report.clauses(),
        "checks": [
            {
                "name": result.check.name,
                "clauses": result.check.clauses,
                "part": result.check.part,
                "feature": result.check.feature,
                "added": result.check.added,
                "state": result.state,
                "detail": result.detail,
                "seconds": round(result.seconds, 3),
            }
            for result in report.results
        ],
        "leftBehind": list(report.left_behind),
        "unreachable": report.unreachable or None,
    }
    return json.dumps(document) + "\n"


def junit_report(report: VerifyReport) -> bytes:
    """A suite for each part, a case for each check. A skipped and an absent one are ``skipped`` there."""
    root = ET.Element("testsuites", name="modhub-verify")
    for part in dict.fromkeys(result.check.part for result in report.results):
        results = [result for result in report.results if result.check.part == part]
        broken = sum(result.state is CheckState.BROKEN for result in results)
        untried = sum(result.state in {CheckState.SKIPPED, CheckState.ABSENT} for result in results)
        numbers = {"tests": len(results), "failures": broken, "errors": 0, "skipped": untried}
        suite = ET.SubElement(root, "testsuite", {name: str(number) for name, number in numbers.items()})
        suite.attrib |= {"name": f"modhub-verify {part}", "time": f"{sum(result.seconds for result in results):.3f}"}
        for result in results:
            _add_case(suite, result)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_case(suite: ET.Element, result: CheckResult) -> None:
    name = f"{', '.join(result.check.clauses)}: {result.check.name}"
    module = f"modhub_client.verify.{result.check.module}"
    case = ET.SubElement(suite, "testcase", classname=module, name=name, time=f"{result.seconds:.3f}")
    detail = _UNFIT.sub("\ufffd", result.detail)
    if result.state is CheckState.BROKEN:
        ET.SubElement(case, "failure", message=detail).text = detail
    elif result.state is not CheckState.PASSED:
        ET.SubElement(case, "skipped", message=f"{result.state}: {detail}")
