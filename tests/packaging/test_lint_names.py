"""tools/lint_names.py finds names with two meanings and locals that say nothing, and nothing else."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
lint: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "lint_names.py"))


def write(folder: Path, sources: dict[str, str]) -> None:
    for name, source in sources.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)


def problems(folder: Path, sources: dict[str, str]) -> list[str]:
    write(folder, sources)
    return lint["problems"](folder)


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


@pytest.mark.parametrize(
    "definition",
    [
        "def function():\n    found = 1",
        "def function():\n    found: int = 1",
        "def function():\n    other, found = 1, 2",
        "def function():\n    if (found := 1): ...",
        "def function():\n    for found in (): ...",
        "def function():\n    with open() as found: ...",
        "def function():\n    def found(): ...",
        "def function():\n    try: ...\n    except OSError as found: ...",
        "def function(found): ...",
        "def function(*, found=1): ...",
        "async def function(*found): ...",
        "class Thing:\n    def method(self, **found): ...",
        "attribute = [found for found in ()]",
        "attribute = any(found for found in ())",
        "attribute = lambda: (found := 1)",
        "attribute = lambda found: 1",
    ],
)
def test_a_vague_local_is_found_with_its_place(tmp_path: Path, definition: str):
    write(tmp_path, {"modhub/a.py": definition, "tests/core/b.py": "\n" + definition, "elsewhere/c.py": definition})
    line = next(number for number, text in enumerate(definition.split("\n"), 1) if "found" in text)
    assert lint["vague_locals"](tmp_path) == [
        f"modhub/a.py:{line}: found does not say what it holds",
        f"tests/core/b.py:{line + 1}: found does not say what it holds",
    ]


@pytest.mark.parametrize(
    "definition",
    [
        "from hypothesis import given\n@given()\ndef function(): ...",
        "class Thing:\n    wanted: bool",
        "class Thing:\n    def wanted(self): ...",
        "def function():\n    class Thing:\n        one = 1",
        "def function():\n    call(found=1).found = found",
    ],
)
def test_what_is_no_local_may_have_any_name(tmp_path: Path, definition: str):
    write(tmp_path, {"modhub/a.py": definition, "modhub/migrations/versions/b.py": "def upgrade():\n    found = 1"})
    assert lint["vague_locals"](tmp_path) == []


def test_a_view_of_the_api_that_does_not_say_what_it_does_is_found(tmp_path: Path):
    # C-API-2
    undeclared = "class Views:\n    @api(Mod, request_method='GET')\n    def read(self): ..."
    declared = "@api(Mod, operation=Operation('read_mod'))\ndef read(context, request): ..."
    page = "@view_config(context=Mod)\ndef page(context, request): ..."
    write(tmp_path, {"modhub/a.py": undeclared, "modhub_tags/b.py": declared, "modhub/c.py": page})
    assert lint["undescribed_views"](tmp_path) == ["modhub/a.py:2: read does not declare its operation"]
