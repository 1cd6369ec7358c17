"""The mutants of ``tests/mutants/*.toml`` (`mutants`). As a program, a part of ``make lint``: it names those that no
longer apply.

One table for each, ``[name]``:

* ``why``: what somebody would suffer, in a sentence,
* ``file``, ``old``, ``new``: a text that is in the file once, and what takes its place,
* ``test``: the test that must fail, as pytest names it,
* ``database``: where it fails, ``sqlite`` unless it says ``postgresql``,
* ``verify``: the clause that modhub-verify must report as broken (`mutant_service`), if that can be seen from outside.

A text finds its place again when code around it moves, which a line number does not.
"""

import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLES = "tests/mutants"
CONTRACT = "modhub/contract.md"


class Mutant(NamedTuple):
    """A broken variant of the product."""

    name: str
    why: str
    file: str
    old: str
    new: str
    test: str
    database: str = "sqlite"
    verify: str = ""


def read_mutants(root: Path) -> list[Mutant]:
    """The mutants of a source tree."""
    tables = [tomllib.loads(path.read_text("utf-8")) for path in sorted((root / TABLES).glob("*.toml"))]
    return [Mutant(name, **fields) for table in tables for name, fields in table.items()]


def find_problems(root: Path, mutants: Sequence[Mutant]) -> Iterator[str]:
    """A line for each mutant that cannot be made or is no change, and each test or clause that does not exist."""
    names = [mutant.name for mutant in mutants]
    yield from (f"{name}: several mutants have this name" for name in sorted(set(names)) if names.count(name) > 1)
    contract = (root / CONTRACT).read_text("utf-8")
    for mutant in mutants:
        try:
            source = mutate((root / mutant.file).read_text("utf-8"), mutant)
            if mutant.file.endswith(".py"):
                compile(source, mutant.file, "exec")
        except (OSError, ValueError, SyntaxError) as error:
            yield f"{mutant.name}: {mutant.file}: {error}{_moved_to(root, mutant)}"
        path, _, function = mutant.test.partition("::")
        tests = (root / path).read_text("utf-8") if (root / path).is_file() else ""
        if f"def {function.partition('[')[0]}(" not in tests:
            yield f"{mutant.name}: there is no test {mutant.test}"
        if mutant.verify and f"**{mutant.verify}**" not in contract:
            yield f"{mutant.name}: there is no clause {mutant.verify}"


def _moved_to(root: Path, mutant: Mutant) -> str:
    """Names the other files of its folder that have its text."""
    file = root / mutant.file
    others = [path for path in file.parent.rglob(f"*{file.suffix}") if path != file]
    places = [str(path.relative_to(root)) for path in sorted(others) if mutant.old in path.read_text("utf-8")]
    return f"; it is in {', '.join(places)}" if places else ""


def mutate(source: str, mutant: Mutant) -> str:
    """The source with the mutant in it; ValueError unless there is one place for it."""
    if mutant.old == mutant.new:
        raise ValueError("old and new are the same text")
    if (places := source.count(mutant.old)) != 1:
        raise ValueError(f"old is there {places} times instead of once")
    return source.replace(mutant.old, mutant.new)


@contextmanager
def mutated(root: Path, mutant: Mutant) -> Iterator[None]:
    """Have the mutant in a source tree during the block."""
    path = root / mutant.file
    source = path.read_text("utf-8")
    path.write_text(mutate(source, mutant), "utf-8")
    try:
        yield
    finally:
        path.write_text(source, "utf-8")


def main(root: Path = ROOT) -> int:
    """Print the problems. Returns the exit code."""
    problems = list(find_problems(root, read_mutants(root)))
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
