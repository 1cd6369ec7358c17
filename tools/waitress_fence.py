"""Hashes the source of everything in waitress that modhub.server relies on (ADR 015).

``python tools/waitress_fence.py --write`` records the installed waitress in tools/waitress_fence.json. Run it after
reading what changed. tests/packaging/test_waitress_fence.py compares.

Recorded are the functions and values of waitress that

* a class of modhub.server overrides or replaces,
* are private and used in modhub.server, or set such an attribute,
* modhub.server imports and calls.
"""

import ast
import hashlib
import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from waitress import receiver, task

import modhub.server
from modhub.server.chunked import ChunkedBody
from modhub.server.thread_pools import FairQueue, ThreadPools

RECORD = Path(__file__).with_suffix(".json")
STAND_INS: dict[type, type] = {ChunkedBody: receiver.ChunkedReceiver, ThreadPools: task.ThreadedTaskDispatcher}
"""Classes that replace one of waitress's classes without inheriting from it."""
REPLACED = {(task.ThreadedTaskDispatcher, "queue"): FairQueue}
"""Attributes of waitress's objects that hold an object of ours: code that reads them is recorded."""
NOT_CODE = frozenset(("__annotations__", "__dict__", "__doc__", "__module__", "__weakref__"))


def modules(package: ModuleType) -> list[ModuleType]:
    """Every module of a package except ``__main__``, which runs on import."""
    names = [module.name for module in pkgutil.iter_modules(package.__path__) if module.name != "__main__"]
    return [importlib.import_module(f"{package.__name__}.{name}") for name in sorted(names)]


def relied_on() -> dict[str, str]:
    """Each name of waitress that `modhub.server` relies on, with a hash of its source or value."""
    ours = [modhub.server, *modules(modhub.server)]
    waitress = modules(importlib.import_module("waitress"))
    entries = {**dict(_overridden(ours)), **dict(_private(ours, waitress)), **dict(_imported(ours))}
    return {name: fingerprint(entries[name]) for name in sorted(entries)}


def fingerprint(value: Any) -> str:
    """A hash of a function's source, or of a value."""
    return hashlib.sha256(_text(value).encode()).hexdigest()[:16]


def changes(record: dict[str, Any]) -> list[str]:
    """The differences between a record and the installed waitress, a line for each name."""
    reviewed, current = record["read"], relied_on()
    lines = [f"changed: {name}" for name in current if name in reviewed and reviewed[name] != current[name]]
    lines += [f"not reviewed yet: {name}" for name in current if name not in reviewed]
    return [*lines, *(f"removed, or no longer used: {name}" for name in reviewed if name not in current)]


def record() -> dict[str, Any]:
    """The record that ``--write`` writes."""
    return {"waitress": importlib.metadata.version("waitress"), "read": relied_on()}


def _text(value: Any) -> str:
    value = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)}: {_text(item)}' for key, item in value.items())}}}"
    if inspect.isfunction(value) and value.__module__.startswith("waitress"):
        return textwrap.dedent(inspect.getsource(value))
    if inspect.isroutine(value) or isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return value if isinstance(value, str) else f"{type(value).__name__} {value if _is_plain(value) else ''}"


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, bytes, float, int))


def _is_waitress(kind: type) -> bool:
    return kind.__module__.split(".")[0] == "waitress"


def _named(kind: type, name: str) -> tuple[str, Any]:
    return f"{kind.__module__}.{kind.__qualname__}.{name}", vars(kind)[name]


def _overridden(ours: list[ModuleType]) -> Iterator[tuple[str, Any]]:
    for kind in _classes(ours):
        parents = [parent for parent in kind.__mro__ if _is_waitress(parent)]
        parents += [STAND_INS[kind]] if kind in STAND_INS else []
        overrides = {name for parent in kind.__mro__ if not _is_waitress(parent) for name in vars(parent)}
        overrides -= NOT_CODE | vars(object).keys() - {"__init__"}
        for parent in parents:
            yield from (_named(parent, name) for name in overrides & vars(parent).keys())


def _classes(ours: list[ModuleType]) -> list[type]:
    defined = [vars(module).values() for module in ours]
    return [kind for values in defined for kind in values if isinstance(kind, type) and not _is_waitress(kind)]


def _private(ours: list[ModuleType], waitress: list[ModuleType]) -> Iterator[tuple[str, Any]]:
    """Private names that our modules use: where waitress defines, sets or reads them."""
    used = {name for module in ours for name in _attributes(module) if name.startswith("_") and name[1] != "_"}
    for kind in _defined_classes(waitress):
        for name, value in vars(kind).items():
            replaced = {attribute for owner, attribute in REPLACED if owner is kind}
            if name in used or (inspect.isfunction(value) and _touches(value, used, replaced)):
                yield _named(kind, name)


def _defined_classes(waitress: list[ModuleType]) -> list[type]:
    return [
        kind
        for module in waitress
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__
    ]


def _attributes(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute):
            yield node.attr


def _touches(function: Any, stored: set[str], read: set[str]) -> bool:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    return any(
        node.attr in read or (node.attr in stored and isinstance(node.ctx, ast.Store))
        for node in attributes
        if isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _imported(ours: list[ModuleType]) -> Iterator[tuple[str, Any]]:
    """Functions imported by name, and those called through an imported module of waitress."""
    for module in ours:
        for value in vars(module).values():
            if inspect.isfunction(value) and value.__module__.startswith("waitress"):
                yield f"{value.__module__}.{value.__qualname__}", value
            elif inspect.ismodule(value) and value.__name__.startswith("waitress"):
                yield from _called_through(module, value)


def _called_through(module: ModuleType, imported: ModuleType) -> Iterator[tuple[str, Any]]:
    local_name = imported.__name__.rpartition(".")[2]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == local_name:
            value = getattr(imported, node.attr)
            if inspect.isfunction(value):
                yield f"{imported.__name__}.{node.attr}", value


def main() -> int:
    """Write the record, or print the differences. Returns the exit code."""
    if sys.argv[1:] == ["--write"]:
        RECORD.write_text(json.dumps(record(), indent=1) + "\n", "utf-8")
        return 0
    lines = changes(json.loads(RECORD.read_text("utf-8")))
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
