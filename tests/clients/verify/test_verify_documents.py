"""What is verified from outside are clauses of the contract, and the list of checks is in order."""

import re
from collections import Counter
from pathlib import Path

import pytest

from modhub_verify.parts import CHECKS

ROOT = Path(__file__).parents[3]
LAW = ("docs/contract.md", "docs/threats.md")
DEFINED = re.compile(r"(?m)^(?:- \*\*|\| )(C-[A-Z]+-[0-9]+|T-[A-H][0-9]+)\b")


def test_every_verified_clause_is_defined() -> None:
    defined = {clause for name in LAW for clause in DEFINED.findall((ROOT / name).read_text("utf-8"))}
    assert {clause for check in CHECKS for clause in check.clauses} <= defined


def test_as_many_clauses_are_verified_as_the_contract_says() -> None:
    (said,) = re.findall(r"tries more than (\d+) of these clauses", (ROOT / "docs/contract.md").read_text("utf-8"))
    assert len({clause for check in CHECKS for clause in check.clauses if clause.startswith("C-")}) > int(said)


def test_every_check_has_a_name_a_sentence_and_clauses() -> None:
    names = Counter(check.name for check in CHECKS)
    assert [name for name, times in names.items() if times > 1] == []
    assert [check.name for check in CHECKS if not check.run.__doc__ or not check.clauses] == []


@pytest.mark.parametrize("name", ["README.md", "docs/clients.md"])
def test_documents_name_the_command(name: str) -> None:
    assert "modhub-verify" in (ROOT / name).read_text("utf-8") or "modhub_verify" in (ROOT / name).read_text("utf-8")
