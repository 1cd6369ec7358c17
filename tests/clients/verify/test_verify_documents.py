"""modhub/contract.md says which clauses are verified from outside, and the list of checks is in order."""

import re
from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

from modhub_client.verify.checks import VERIFIED_PARTS
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.report import clause_order

ROOT = Path(__file__).parents[3]
LAW = ("modhub/contract.md", "docs/threats.md")
HEADING = "## Verified from outside"
DEFINED = re.compile(r"(?m)^(?:- \*\*|\| )(C-[A-Z]+-[0-9]+|T-[A-H][0-9]+[a-z]?)\b")
PARTS = [part for part in VERIFIED_PARTS if any(check.part == part for check in CHECKS)]


def listed_clauses(part: str) -> str:
    """The line of a part in modhub/contract.md: the numbers of each family, those in a row as ``3–5``."""
    clauses = {clause for check in CHECKS if check.part == part for clause in check.clauses}
    families = groupby(sorted(map(clause_order, clauses)), key=itemgetter(0))
    return f"- `{part}`: {'; '.join(family + rows([number for _, number in ids]) for family, ids in families)}."


def rows(numbers: list[int]) -> str:
    """Rising numbers, those in a row by their first and last."""
    runs = [list(run) for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0][1]) if len(run) == 1 else f"{run[0][1]}–{run[-1][1]}" for run in runs)


@pytest.mark.parametrize("part", PARTS)
def test_the_contract_says_which_clauses_are_verified(part: str) -> None:
    section = (ROOT / "modhub/contract.md").read_text("utf-8").partition(HEADING)[2].partition("\n## ")[0]
    assert listed_clauses(part) in section.splitlines(), f"modhub/contract.md needs the line\n{listed_clauses(part)}"


def test_every_verified_clause_is_defined() -> None:
    defined = {clause for name in LAW for clause in DEFINED.findall((ROOT / name).read_text("utf-8"))}
    assert {clause for check in CHECKS for clause in check.clauses} <= defined


def test_every_check_has_a_name_of_its_own_and_clauses() -> None:
    names = Counter(check.name for check in CHECKS)
    assert [name for name, times in names.items() if times > 1] == []
    assert [check.name for check in CHECKS if not check.clauses] == []
