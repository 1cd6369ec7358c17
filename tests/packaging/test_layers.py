"""The core's parts only import parts below themselves."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAYERS = (
    ("content",),
    ("base",),
    ("db",),
    ("blobs",),
    ("plugins",),
    ("web", "server"),
    ("ui", "audit"),
    ("catalogue", "storage_address", "migrations"),
    ("admin",),
    ("modhub",),
)
"""From the bottom up. ``modhub`` is ``modhub/__init__.py``, which puts the application together."""
HEIGHTS = {part: height for height, parts in enumerate(LAYERS) for part in parts}


def part_of(module):
    names = module.split(".")
    return names[1] if len(names) > 1 and names[1] in HEIGHTS else "modhub"


def imported_parts(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (part_of(alias.name) for alias in node.names if alias.name.split(".")[0] == "modhub")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "modhub":
            yield from (part_of(f"{node.module}.{alias.name}") for alias in node.names)


def upward(part, source):
    """The parts that ``source``, a module of ``part``, must not import."""
    return {other for other in imported_parts(source) if other != part and HEIGHTS[other] >= HEIGHTS[part]}


def test_imports_point_down():
    upwards = {}
    for path in sorted((ROOT / "modhub").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix().removesuffix(".py").removesuffix("/__init__")
        if parts := upward(part_of(name.replace("/", ".")), path.read_text("utf-8")):
            upwards[name] = parts
    assert upwards == {}


def test_every_part_has_a_layer():
    parts = {
        path.stem for path in (ROOT / "modhub").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - HEIGHTS.keys() == {"__init__"}
