"""``make mutants``: breaks the product in one place at a time, and names the variants that no test notices.

What is broken, and which test must fail then, is in ``tests/mutants`` (`mutant_table`). It happens in copies of the
source tree; the tree itself is never changed. With ``--verify`` modhub-verify must notice, by a call from outside
(`mutant_service`).

Exits with 1 if a mutant survives, does not apply, or could not be tried.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Final, NamedTuple

from mutant_copies import copy_tree, environ_of, run_tests
from mutant_service import NotVerified, find_broken_clauses, make_samples
from mutant_table import ROOT, Mutant, find_problems, mutated, read_mutants

SECONDS: Final = 120.0
"""A test that takes longer has noticed the mutant: it hangs."""
MIGRATIONS: Final = "/migrations/"
FAILED: Final = re.compile(r"\b[1-9][0-9]* failed\b")

Attempt = Callable[[Path, Mutant], tuple[str, bool]]


class Verdict(NamedTuple):
    """What became of a mutant, and the seconds that it took."""

    mutant: Mutant
    outcome: str
    is_killed: bool
    seconds: float


def try_test(root: Path, mutant: Mutant, seconds: float) -> tuple[str, bool]:
    """(what became of a mutant, whether its test has noticed it)."""
    with mutated(root, mutant):
        code, output = run_tests(root, mutant.database, [mutant.test], seconds)
    if code is None:
        return f"killed by time: {output}", True
    if code == 1 and FAILED.search(output):
        reason = next((line[4:].strip() for line in output.splitlines() if line.startswith("E   ")), "")
        return f"killed: {reason[:100]}", True
    # Anything else is no failed test: a fixture that breaks, a name that pytest does not know.
    return f"SURVIVED {mutant.test}" if code == 0 else f"NOT TRIED: {output[-3000:]}", False


def try_verify(root: Path, mutant: Mutant, samples: Path) -> tuple[str, bool]:
    """The same of modhub-verify, which may report more than this clause."""
    try:
        with mutated(root, mutant), tempfile.TemporaryDirectory(prefix="samples-") as folder:
            if MIGRATIONS in mutant.file:
                # It shows only in a database that it has made.
                samples = Path(folder)
                make_samples(root, samples, environ_of(root))
            broken = find_broken_clauses(root, samples, environ_of(root))
    except (AssertionError, NotVerified) as error:
        return f"NOT TRIED: {error}", False
    is_killed = mutant.verify in broken
    said = " ".join(sorted(broken)) or "nothing"
    return f"{'killed' if is_killed else 'SURVIVED'} by modhub-verify: {mutant.verify} (it reports {said})", is_killed


def fail_without(root: Path, mutants: Sequence[Mutant]) -> str:
    """What pytest says if a test fails without any mutant, and so would seem to notice its own; else nothing."""
    for database in sorted({mutant.database for mutant in mutants}):
        tests = sorted({mutant.test for mutant in mutants if mutant.database == database})
        code, output = run_tests(root, database, tests, SECONDS * len(tests))
        if code != 0:
            return output[-3000:]
    return ""


def broken_without(root: Path, mutants: Sequence[Mutant], samples: Path) -> str:
    """The clauses of these mutants that modhub-verify reports without any, or why it cannot tell."""
    try:
        broken = find_broken_clauses(root, samples, environ_of(root))
    except NotVerified as error:
        return str(error)
    return " ".join(sorted(broken.intersection(mutant.verify for mutant in mutants)))


def try_all(copies: Sequence[Path], mutants: Sequence[Mutant], attempt: Attempt) -> Iterator[Verdict]:
    """Try the mutants, one at a time in each copy; the first to end comes first."""
    free: SimpleQueue[Path] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def judge(mutant: Mutant) -> Verdict:
        copy, began = free.get(), monotonic()
        try:
            return Verdict(mutant, *attempt(copy, mutant), monotonic() - began)
        finally:
            free.put(copy)

    threads = ThreadPoolExecutor(len(copies))
    try:
        yield from (done.result() for done in as_completed([threads.submit(judge, mutant) for mutant in mutants]))
    finally:
        threads.shutdown(cancel_futures=True)


def main() -> int:
    """Try the mutants and print what became of each. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="make mutants", description="try broken variants of the product")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant, or a pattern such as 'a-draft-*'; else all")
    parser.add_argument("--verify", action="store_true", help="modhub-verify must notice them, where it can")
    parser.add_argument("--root", type=Path, default=ROOT, help="the source tree")
    parser.add_argument(
        "--seconds", type=float, default=SECONDS, help="how long a test may take (default: %(default)s)"
    )
    arguments = parser.parse_args()
    mutants = read_mutants(arguments.root)
    if problems := list(find_problems(arguments.root, mutants)):
        say(*problems)
        return 1
    chosen = [mutant for mutant in mutants if any(fnmatch(mutant.name, name) for name in arguments.names or ["*"])]
    if arguments.verify:
        chosen = [mutant for mutant in chosen if mutant.verify]
    if not chosen:
        parser.error("no mutant has such a name")
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = copy_tree(arguments.root, Path(folder))
        if arguments.verify:
            samples = Path(folder) / "samples"
            make_samples(copies[0], samples, environ_of(copies[0]))
            attempt: Attempt = partial(try_verify, samples=samples)
            return report(copies, chosen, broken_without(copies[0], chosen, samples), attempt)
        attempt = partial(try_test, seconds=arguments.seconds)
        return report(copies, chosen, fail_without(copies[0], chosen), attempt)


def report(copies: Sequence[Path], mutants: Sequence[Mutant], failed: str, attempt: Attempt) -> int:
    """Try these mutants, unless something ``failed`` without them. Returns the exit code."""
    if failed:
        say("Without any mutant this fails:", failed)
        return 1
    began, killed = monotonic(), 0
    for verdict in try_all(copies, mutants, attempt):
        killed += verdict.is_killed
        say(f"{verdict.mutant.name} ({verdict.seconds:.0f} s): {verdict.outcome}")
    say(f"{killed} of {len(mutants)} mutants killed, in {monotonic() - began:.0f} s.")
    return 0 if killed == len(mutants) else 1


def say(*lines: str) -> None:
    """Print at once: a run takes minutes."""
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
