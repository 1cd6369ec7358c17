"""docs/asvs.md is complete for level 1, and what it cites is there. (Its clauses: tests/packaging/test_contract.py.)"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "asvs.md").read_text("utf-8")
LEVEL_1 = {
    1: "2.1 2.2 2.3 2.4 2.5 3.1 3.2 5.1",
    2: "1.1 2.1 2.2 3.1",
    3: "2.1 2.2 3.1 4.1 4.2 5.1 5.2 5.3",
    4: "1.1 4.1",
    5: "2.1 2.2 3.1 3.2",
    6: "1.1 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 3.1 3.2 4.1 4.2",
    7: "2.1 2.2 2.3 2.4 4.1 4.2",
    8: "1.1 2.1 2.2 3.1",
    9: "1.1 1.2 1.3 2.1",
    10: "4.1 4.2 4.3 4.4 4.5",
    11: "3.1 3.2 4.1",
    12: "1.1 2.1 2.2",
    13: "4.1",
    14: "2.1 3.1",
    15: "1.1 2.1 3.1",
}
"""The numbers of level 1 in ASVS 5.0.0, by chapter."""
PROOF = re.compile(r"\b[CT]-[A-Z]*-?[0-9]+\b|`tests/|\]\(|requirements/|`make lint`")


def rows(heading: str) -> list[list[str]]:
    part = DOCUMENT.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_level_1_is_complete_and_each_row_has_a_reason() -> None:
    table = rows("Level 1")
    assert [row[0] for row in table] == [
        f"{chapter}.{rest}" for chapter, numbers in LEVEL_1.items() for rest in numbers.split()
    ]
    for number, about, state, how in table:
        assert about, number
        assert state in {"met", "n/a", "**not met**"}, number
        # What is not there needs no proof.
        assert how if state == "n/a" else PROOF.search(how) or "none" in how or "no passwords" in how, number


def test_what_is_not_met_of_level_2_has_a_reason() -> None:
    table = rows("Level 2: not met")
    numbers = [number for row in table for number in row[0].split(", ")]
    assert len(numbers) > 10
    assert sorted(numbers, key=lambda number: [int(part) for part in number.split(".")]) == numbers
    assert [row for row in table if len(row) != 3 or len(row[2]) < 30] == []


def test_the_tests_that_it_cites_are_there() -> None:
    cited = re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", DOCUMENT)
    assert len(cited) > 5
    for name, function in cited:
        names = {
            node.name for node in ast.parse((ROOT / name).read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
        }
        assert not function or function in names, f"{name}::{function}"


def anchors(path: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.+)$", path.read_text("utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https:)([^)#]*)(?:#([^)]+))?\)", DOCUMENT)
    assert len(links) > 5
    for name, anchor in links:
        path = ROOT / "docs" / (name or "asvs.md")
        assert path.exists(), name
        assert not anchor or anchor in anchors(path), anchor
