"""Finds public names with two meanings, and locals that say nothing; part of ``make lint``.

A name with two meanings makes every search and import ambiguous. Checked are functions, classes and constants at the
top level of a package's modules, without imports. Exempt are

* private names (``_name``) and migrations,
* loggers: ``log = logging.getLogger(...)``,
* hooks that packages and commands define by design: `HOOKS`.

`VAGUE` are the words that no parameter, variable or nested function may be called, migrations apart.

Every view of the API says what it does: ``@api(..., operation=...)``, for ``/api/openapi.json``.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("modhub*", "clients/*")
OTHER_FOLDERS = ("bench", "deploy", "docs", "tests", "tools")
HOOKS = frozenset(("includeme", "main"))
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
VAGUE = frozenset(("found", "given", "one", "wanted"))


def collisions(root: Path) -> dict[str, list[str]]:
    """Each name that two or more modules below ``root`` define, with its locations."""
    locations: dict[str, list[str]] = defaultdict(list)
    for path in _modules(root):
        # A name defined twice in one module (for two platforms, say) counts once.
        defined = dict(reversed(list(_definitions(ast.parse(path.read_text("utf-8"))))))
        for name, line in defined.items():
            locations[name].append(f"{path.relative_to(root)}:{line}")
    return {name: lines for name, lines in sorted(locations.items()) if len(lines) > 1 and name not in HOOKS}


def problems(root: Path) -> list[str]:
    """A line for each collision."""
    return [f"{name} has two meanings: {', '.join(at)}" for name, at in collisions(root).items()]


def vague_locals(root: Path) -> list[str]:
    """A line for each local in the modules and tests below ``root`` that could hold anything."""
    return [
        f"{path.relative_to(root)}:{line}: {name} does not say what it holds"
        for path in _modules(root, (*PACKAGES, *OTHER_FOLDERS))
        for name, line in _locals(ast.parse(path.read_text("utf-8")))
        if name in VAGUE
    ]


def undescribed_views(root: Path) -> list[str]:
    """A line for each view of the API that ``/api/openapi.json`` would leave out."""
    return [
        f"{path.relative_to(root)}:{call.lineno}: {view.name} does not declare its operation"
        for path in _modules(root)
        for view in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(view, ast.FunctionDef)
        for call in view.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "api"
        if "operation" not in {keyword.arg for keyword in call.keywords}
    ]


def _locals(scope: ast.AST, *, inside: bool = False) -> Iterator[tuple[str, int]]:
    """Parameters, and all that is assigned ``inside`` a function, but not the attributes of a class."""
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif inside and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif inside and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler)):
            yield node.name or "", node.lineno
        is_class = isinstance(node, ast.ClassDef)
        yield from _locals(node, inside=not is_class and (inside or isinstance(node, SCOPES)))


def _modules(root: Path, patterns: Iterable[str] = PACKAGES) -> list[Path]:
    folders = [folder for pattern in patterns for folder in sorted(root.glob(pattern))]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
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
    """Print the problems. Returns the exit code."""
    lines = [*problems(ROOT), *vague_locals(ROOT), *undescribed_views(ROOT)]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
