"""The documents agree with the code."""

import ast
import importlib
import re
import runpy
from pathlib import Path

import modhub
from modhub.db import Base

ROOT = Path(__file__).parents[2]


def test_the_settings_document_is_what_the_packages_declare():
    document = runpy.run_path(str(ROOT / "docs" / "generate.py"))["document"]
    assert (ROOT / "docs" / "settings.md").read_text() == document(), "run: python docs/generate.py > docs/settings.md"


def test_every_setting_stands_in_both_configuration_files():
    names = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE)
    assert len(names) > 15
    for ini in ("development.ini", "production.ini"):
        text = (ROOT / ini).read_text()
        for name in names:
            assert re.search(rf"^#? ?{re.escape(name)} =", text, re.MULTILINE), f"{name} is not in {ini}"


def test_both_configuration_files_have_the_same_keys_in_the_same_order():
    def keys(ini: str) -> list[str]:
        names = re.findall(r"^#? ?([A-Za-z_.]+) =", (ROOT / ini).read_text(), re.MULTILINE)
        return [key for key in names if not key.startswith("trusted_proxy")]

    assert keys("development.ini") == keys("production.ini")


def test_the_architecture_names_only_files_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(modhub[\w/]*(?:\.py|/))`", text)
    assert len(named) > 15
    missing = [name for name in named if not (ROOT / name).exists()]
    assert missing == []


def test_the_architecture_names_every_table_of_the_core():
    text = (ROOT / "docs" / "architecture.md").read_text().partition("## Tables")[2]
    patterns = [re.compile(name.replace("*", ".+")) for name in re.findall(r"`((?:fts_)?core_[a-z_*]+)`", text)]
    tables = [name for name in Base.metadata.tables if name.startswith("core_")]
    assert len(tables) > 25
    assert [name for name in tables if not any(pattern.fullmatch(name) for pattern in patterns)] == []


def test_the_documents_name_only_targets_that_make_has():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *ROOT.glob("docs/adr/*.md")):
        named = set(re.findall(r"(?:`|^ *)make ([a-z][a-z-]*)", path.read_text("utf-8"), re.MULTILINE))
        assert named <= targets, path.name


def test_the_index_links_every_document():
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    documents = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    assert len(documents) > 8
    assert [name for name in documents if f"]({name})" not in index] == []


def guide_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "writing-a-feature.md").read_text(), re.DOTALL)


def test_the_guide_imports_what_is_there():
    imports = [
        (node.module, name.name)
        for block in guide_blocks()
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and not node.module.startswith("modhub_bookmarks")
        for name in node.names
    ]
    assert len(imports) > 25
    missing = [f"{module}.{name}" for module, name in imports if not hasattr(importlib.import_module(module), name)]
    assert missing == []


def test_the_guide_lists_modules_that_are_there():
    text = (ROOT / "docs" / "writing-a-feature.md").read_text()
    table = text[text.index("## What to import") : text.index("## Directives")]
    rows = re.findall(r"^\| (`modhub.*?) \| (.*) \|$", table, re.MULTILINE)
    assert len(rows) > 15
    for modules, names in rows:
        loaded = [importlib.import_module(module) for module in re.findall(r"`([\w.]+)`", modules)]
        for name in re.findall(r"`(\w+)`", names):
            assert any(hasattr(module, name) for module in loaded), f"{name} is not in {modules}"


def test_the_guide_names_every_directive():
    text = (ROOT / "docs" / "writing-a-feature.md").read_text()
    config = modhub.configure({"sqlalchemy.url": "sqlite:////nowhere", "modhub.secret": "0" * 32})
    # Pyramid's own and those of the libraries are told elsewhere.
    ours = {
        name for name, (function, _) in config.registry._directives.items() if function.__module__.startswith("modhub")
    }
    assert 15 < len(ours) <= 20
    assert {name for name in ours if f"`{name}(" not in text} == set()
