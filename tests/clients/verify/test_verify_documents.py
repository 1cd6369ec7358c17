"""Checks name clauses that the contract has, and their list is in order."""

import re
from collections import Counter
from pathlib import Path

from modhub_client.verify.parts import CHECKS

ROOT = Path(__file__).parents[3]
LAW = ("modhub/contract.md", "docs/threats.md")
DEFINED = re.compile(r"(?m)^- \*\*(C-[A-Z]+-[0-9]+|T-[A-H][0-9]+[a-z]?)\b")


def test_every_verified_clause_is_defined():
    defined = {clause for name in LAW for clause in DEFINED.findall((ROOT / name).read_text("utf-8"))}
    assert {clause for check in CHECKS for clause in check.clauses} <= defined


def test_every_check_has_a_name_of_its_own_and_clauses():
    names = Counter(check.name for check in CHECKS)
    assert [name for name, times in names.items() if times > 1] == []
    assert [check.name for check in CHECKS if not check.clauses] == []
