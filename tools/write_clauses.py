"""Writes ``clauses.json`` into each package, with the texts of the clauses that its operations name.

docs/contract.md is the one source. No wheel has it, so each package takes along what its description needs. The files
are committed, and a test checks that they are those of the present contract.
"""

import ast
import json
import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FILE: Final = "clauses.json"
_CLAUSE: Final = re.compile(r"(?m)^- \*\*(C-[A-Z]+-\d+)\*\* (.*(?:\n  \S.*)*)")


def contract() -> dict[str, str]:
    """The text of each clause by id, each in one line."""
    text = (ROOT / "docs" / "contract.md").read_text("utf-8")
    return {clause: " ".join(lines.split()) for clause, lines in _CLAUSE.findall(text)}


def packages() -> list[Path]:
    """The folders of the packages that have operations, or had some."""
    manifests = sorted(ROOT.glob("modhub*/pyproject.toml"))
    return [path.parent for path in manifests if named_clauses(path.parent) or (path.parent / FILE).exists()]


def named_clauses(package: Path) -> list[str]:
    """The ids in the ``clauses=(…)`` of a package, in the order of the contract."""
    named = {
        element.value
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "clauses"
        for element in ast.walk(node.value)
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    }
    unknown = named - contract().keys()
    if unknown:
        raise SystemExit(f"docs/contract.md has no clause {', '.join(sorted(unknown))}")
    return [clause for clause in contract() if clause in named]


def render_clauses(package: Path) -> str:
    """The content of the file of a package."""
    texts = contract()
    return json.dumps({clause: texts[clause] for clause in named_clauses(package)}, ensure_ascii=False, indent=1) + "\n"


def main() -> None:
    """Write the files."""
    for package in packages():
        (package / FILE).write_text(render_clauses(package), "utf-8", newline="\n")


if __name__ == "__main__":
    main()
