"""tools/lint_names.py finds names with two meanings, and nothing else."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
lint: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "lint_names.py"))


def problems(folder: Path, sources: dict[str, str], same_meaning: dict[str, str] | None = None) -> list[str]:
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return lint["problems"](folder, same_meaning or {})


@pytest.mark.parametrize(
    "definition",
    [
        "def thing(): ...",
        "async def thing(): ...",
        "class thing: ...",
        "thing = 1",
        "thing: int = 1",
        "other, thing = 1, 2",
        "import logging\nthing = logging.INFO",
    ],
)
def test_a_name_that_two_modules_define_is_found_with_its_places(tmp_path: Path, definition: str):
    line = definition.count("\n") + 1
    sources = {"modhub/a.py": "\nthing = 1", "modhub_auth/pages/b.py": definition, "elsewhere/c.py": definition}
    assert problems(tmp_path, sources) == [
        f"thing has two meanings: modhub/a.py:2, modhub_auth/pages/b.py:{line}",
    ]


def test_a_client_counts_too(tmp_path: Path):
    sources = {"modhub/a.py": "thing = 1", "clients/modhub_publish/b.py": "thing = 1"}
    assert len(problems(tmp_path, sources)) == 1


@pytest.mark.parametrize(
    "definition",
    [
        "_thing = 1",
        "from modhub.a import thing",
        "def includeme(config): ...",
        "def main(): ...",
        "import logging\nlog = logging.getLogger('modhub')",
        "def function():\n    thing = 1",
        "class Other:\n    thing = 1",
    ],
)
def test_what_is_exempt_is_not_found(tmp_path: Path, definition: str):
    first = "import logging\nlog = logging.getLogger('modhub')\ndef includeme(config): ...\ndef main(): ...\nthing = 1"
    assert problems(tmp_path, {"modhub/a.py": first, "modhub/b.py": definition}) == []


def test_one_module_may_define_a_name_twice(tmp_path: Path):
    assert problems(tmp_path, {"modhub/a.py": "def thing(): ...\ndef thing(): ..."}) == []


def test_revisions_are_exempt(tmp_path: Path):
    sources = {f"modhub/migrations/versions/{name}.py": "def upgrade(): ..." for name in "ab"}
    assert problems(tmp_path, sources) == []


def test_an_unnecessary_exemption_is_reported(tmp_path: Path):
    sources = {"modhub/a.py": "thing = 1", "modhub/b.py": "thing = 1"}
    assert problems(tmp_path, sources, {"thing": "a reason"}) == []
    assert problems(tmp_path, sources, {"thing": "a reason", "gone": "a reason"}) == [
        "gone no longer needs an exemption"
    ]
