"""Cited ids exist in modhub/contract.md, threats.md and adr, and each clause has its tests."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAW = ("modhub/contract.md", "docs/threats.md")
CLAUSE = re.compile(r"\b(?:C-[A-Z]+-[0-9]+|T-[A-H][0-9]+[a-z]?)\b")
DEFINED = re.compile(r"(?m)^- \*\*(C-[A-Z]+-[0-9]+|T-[A-H][0-9]+[a-z]?)\b")
RESERVED = re.compile(r"(?m)^Retired: .*$")
TEXT = (".py", ".md", ".jinja2", ".ini", ".toml", ".css", ".js")


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name.endswith(TEXT)]


def defined():
    return Counter(clause for name in LAW for clause in DEFINED.findall((ROOT / name).read_text("utf-8")))


def reserved():
    """Retired ids that no gap between the others tells."""
    lines = (line for name in LAW for line in RESERVED.findall((ROOT / name).read_text("utf-8")))
    return Counter(clause for line in lines for clause in CLAUSE.findall(line))


def named_by_tests(source):
    """The ids in the source of each test function, its comments and decorators included; nothing else of the module."""
    if not CLAUSE.search(source):
        return set()
    lines = source.splitlines()
    functions = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    tests = [node for node in functions if node.name.startswith("test_")]
    spans = ((min(part.lineno for part in (node, *node.decorator_list)), node.end_lineno) for node in tests)
    return {clause for first, last in spans for clause in CLAUSE.findall("\n".join(lines[first - 1 : last]))}


def test_every_id_is_defined_once():
    ids = defined() + reserved()
    assert len(ids) > 250
    assert [clause for clause, times in ids.items() if times > 1] == []


def test_every_clause_is_named_by_a_test():
    named = {
        clause
        for path in tracked()
        if path.suffix == ".py" and path.is_relative_to(ROOT / "tests") and path != Path(__file__)
        for clause in named_by_tests(path.read_text("utf-8"))
    }
    unnamed = [clause for clause in defined() if clause not in named]
    assert unnamed == [], "each clause needs a test that proves it; see the head of modhub/contract.md"


def test_every_citation_leads_somewhere():
    known = defined().keys()
    dead = {
        f"{path.relative_to(ROOT)}: {cited}"
        for path in tracked()
        for cited in CLAUSE.findall(RESERVED.sub("", path.read_text("utf-8")))
        if cited not in known
    }
    assert dead == set()


def test_every_decision_that_is_cited_is_there():
    files = {path.name for path in (ROOT / "docs/adr").glob("[0-9]*.md")}
    texts = [path.read_text("utf-8") for path in tracked()]
    cited = {number for text in texts for number in re.findall(r"(?:docs/adr/|\bADR )([0-9]{3})", text)}
    assert cited <= {name[:3] for name in files}
    assert {name for text in texts for name in re.findall(r"\badr/([0-9]{3}-[\w-]+\.md)", text)} <= files
