"""Finds public names that two modules define with two meanings: ``python tools/lint_names.py`` (part of ``make lint``).

A name that stands for two things makes every search and every import ask "which one?". Counted are functions, classes
and constants that a module of a package defines at its top; what it imports is not counted. Exempt are

* private names (``_name``) and revisions of a schema,
* loggers: ``log = logging.getLogger(...)``,
* hooks, which every package or command defines under the same name by design: `HOOKS`,
* names that mean the same thing in each place: `SAME_MEANING`, each with its reason.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("modhub*", "clients/*")
HOOKS = frozenset(("includeme", "main"))
SAME_MEANING = {
    "hide_mod": "the test kit hides a mod by the service's function",
    "restore_mod": "the test kit restores a mod by the service's function",
}


def collisions(root: Path) -> dict[str, list[str]]:
    """Each name that two modules below ``root`` define, with the places."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in _modules(root):
        # A name that one module defines twice (for two platforms, say) has one place.
        defined = dict(reversed(list(_definitions(ast.parse(path.read_text("utf-8"))))))
        for name, line in defined.items():
            places[name].append(f"{path.relative_to(root)}:{line}")
    return {name: found for name, found in sorted(places.items()) if len(found) > 1 and name not in HOOKS}


def complaints(root: Path, same_meaning: dict[str, str]) -> list[str]:
    """A line for each collision that is not exempt, and for each exemption that nothing needs any more."""
    found = collisions(root)
    lines = [f"{name} has two meanings: {', '.join(found[name])}" for name in found if name not in same_meaning]
    return [*lines, *(f"{name} need not be exempt any more" for name in same_meaning if name not in found)]


def _modules(root: Path) -> list[Path]:
    packages = [folder for pattern in PACKAGES for folder in sorted(root.glob(pattern))]
    paths = [path for folder in packages for path in sorted(folder.rglob("*.py"))]
    return [path for path in paths if "versions" not in path.parts and "build" not in path.parts]


def _definitions(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in module.body:
        for name in _names(node):
            if not name.startswith("_"):
                yield name, node.lineno


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.AnnAssign):
        return [node.target.id] if isinstance(node.target, ast.Name) else []
    if isinstance(node, ast.Assign) and not _is_logger(node.value):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return []


def _is_logger(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func) == "logging.getLogger"


def main() -> int:
    """Print the complaints; the exit code."""
    lines = complaints(ROOT, SAME_MEANING)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
