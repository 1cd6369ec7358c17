"""Features import from the core only what docs/writing-a-feature.md lists; the core names no feature."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    path.parent.name for path in ROOT.glob("modhub_*/pyproject.toml") if path.parent.name != "modhub_testing"
)
FEATURES = [
    *PACKAGES,
    "modhub/storage_address",
]
"""Our features, and the core's own in miniature."""
ADDRESSES = r"/Modhub/(?:account|App|app|Wiki|api/wiki)\b|/api/(?:auth|modhub/app|modhub/doc)\b"
SCOPES = r"\bModhub:\w+"


def public():
    """The modules and the templates of the guide's table, without those for tests."""
    text = (ROOT / "docs/writing-a-feature.md").read_text("utf-8")
    section = re.search(r"(?ms)^## What to import\n(.*?)^## ", text)
    assert section, "docs/writing-a-feature.md has lost its table"
    rows = re.findall(r"(?m)^\| (`modhub.*?) \| (.*) \|$", section[1])
    cells = [modules for modules, contents in rows if not contents.startswith("only in tests")]
    names = {name for cell in cells for name in re.findall(r"`(modhub[\w.]*(?::[\w/.]+)?)`", cell)}
    return {name for name in names if ":" not in name}, {name for name in names if ":" in name}


def is_module(name):
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def imported(source):
    """What a module takes from the core: modules, or ``module._name`` where the name is a private one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "modhub")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "modhub":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if is_module(whole) or alias.name.startswith("_") else str(node.module)


def used_templates(source):
    return set(re.findall(r"modhub(?:\.\w+)*:[\w/]+\.jinja2", source))


def test_the_list_names_what_is_there_and_all_of_the_root():
    modules, templates = public()
    assert [name for name in sorted(modules) if not is_module(name)] == []
    assert [name for name in sorted(templates) if not (ROOT / name.replace(":", "/")).is_file()] == []
    root = {f"modhub.{path.stem}" for path in (ROOT / "modhub").glob("*.py")} - {"modhub.__init__"}
    assert root - modules == set()


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_imports_public_modules_alone(feature):
    modules, templates = public()
    own = feature.replace("/", ".")
    private = set()
    for path in (ROOT / feature).rglob("*.py"):
        names = {name for name in imported(path.read_text("utf-8")) if not f"{name}.".startswith(f"{own}.")}
        private |= {f"{path.relative_to(ROOT)}: {name}" for name in names - modules}
    for path in (ROOT / feature).rglob("*.jinja2"):
        private |= {f"{path.relative_to(ROOT)}: {name}" for name in used_templates(path.read_text("utf-8")) - templates}
    assert private == set()


def named_features(source):
    """The packages, addresses and scopes of features that a text names."""
    return set(re.findall(rf"\b(?:{'|'.join(PACKAGES)})\b|{ADDRESSES}|{SCOPES}", source))


def test_the_core_names_no_feature():
    kinds = {".py", ".jinja2", ".js", ".css", ".po"}
    files = [path for path in (ROOT / "modhub").rglob("*") if path.suffix in kinds]
    assert len(files) > 150
    named = {f"{path.relative_to(ROOT)}: {name}" for path in files for name in named_features(path.read_text("utf-8"))}
    assert named == set()
