"""Runs checks: those that only ask four at a time, the others one after the other, and undoes what these did."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from itertools import groupby

from modhub_client.verify.checks import ContractCheck
from modhub_client.verify.replies import Absent, Broken, LeftBehind, Skipped, Unreachable
from modhub_client.verify.report import CheckResult, CheckState, VerifyReport
from modhub_client.verify.run import Run
from modhub_client.verify.service import CONNECTIONS

Tell = Callable[[CheckResult], object]
_READING = frozenset({"read", "follow"})
_ODD = (LookupError, TypeError, ValueError, AttributeError, StopIteration)
"""What a check raises when an answer has another shape than it thought."""


def run_checks(run: Run, checks: Sequence[ContractCheck], tell: Tell) -> VerifyReport:
    """Run them all and ``tell`` each result, once it is final."""
    began = time.monotonic()
    report = VerifyReport(run.service.url, run.features, [])

    def take(result: CheckResult) -> None:
        report.results.append(result)
        tell(result)

    try:
        for reads, group in groupby(checks, lambda check: check.part in _READING):
            for result in (_run_together if reads else _run_in_order)(run, list(group)):
                take(result)
    except Unreachable as problem:
        report.unreachable = str(problem)
    except KeyboardInterrupt:
        run.service.stop.set()
        report.interrupted = True
    finally:
        report.left_behind = [_sentence_of(problem) for problem in _undo(run)]
    _add_untried(report, checks, take)
    order = {id(check): position for position, check in enumerate(checks)}
    report.results.sort(key=lambda result: order[id(result.check)])
    report.seconds, report.calls = time.monotonic() - began, run.service.calls
    return report


def _run_together(run: Run, checks: Sequence[ContractCheck]) -> Iterator[CheckResult]:
    """Those that are broken are run a second time at the end: content that changed meanwhile is no broken clause."""
    broken = []
    with ThreadPoolExecutor(CONNECTIONS, "check") as threads:
        try:
            for future in as_completed([threads.submit(try_check, run, check) for check in checks]):
                result = future.result()
                if result.state is CheckState.BROKEN:
                    broken.append(result.check)
                else:
                    yield result
        except BaseException:
            run.service.stop.set()
            threads.shutdown(wait=False, cancel_futures=True)
            raise
    again = run.renewed()
    for check in broken:
        yield try_check(again, check)


def _run_in_order(run: Run, checks: Sequence[ContractCheck]) -> Iterator[CheckResult]:
    for check in checks:
        yield try_check(run, check)


def try_check(run: Run, check: ContractCheck) -> CheckResult:
    """Run one check. `Unreachable` and `Interrupted` pass: they end the run."""
    began = time.monotonic()

    def result(state: CheckState, detail: object = "") -> CheckResult:
        return CheckResult(check, state, str(detail), time.monotonic() - began)

    try:
        _require_feature(run, check)
        check.run(run)
    except Broken as problem:
        return result(CheckState.BROKEN, problem)
    except Skipped as problem:
        return result(CheckState.SKIPPED, problem)
    except Absent as problem:
        return result(CheckState.ABSENT, problem)
    except _ODD as problem:
        return result(CheckState.BROKEN, f"An answer has another shape: {type(problem).__name__}: {problem}")
    return result(CheckState.PASSED)


def _require_feature(run: Run, check: ContractCheck) -> None:
    if check.feature not in run.features:
        raise Absent(f"the deployment has no {check.feature}")
    if check.added and run.interface_only:
        raise Absent("not part of the interface")


def _undo(run: Run) -> list[Exception]:
    """What was published is removed also after Ctrl-C, and while a second one comes."""
    run.service.stop.clear()
    problems: list[Exception] = []
    while run.undo:
        # A step stays in the list while it runs: a second Ctrl-C must not end it for good.
        with suppress(KeyboardInterrupt):
            try:
                run.undo[-1]()
            except Exception as problem:  # noqa: BLE001 - the other steps have to be undone
                problems.append(problem)
            run.undo.pop()
    return problems


def _sentence_of(problem: Exception) -> str:
    return str(problem) if isinstance(problem, LeftBehind) else f"{type(problem).__name__}: {problem}"


def _add_untried(report: VerifyReport, checks: Sequence[ContractCheck], take: Tell) -> None:
    tried = {id(result.check) for result in report.results}
    why = "interrupted" if report.interrupted else "the service cannot be reached"
    for check in checks:
        if id(check) not in tried:
            take(CheckResult(check, CheckState.SKIPPED, why))
