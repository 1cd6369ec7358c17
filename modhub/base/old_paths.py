"""Until 1.2: modules that have moved since 1.0 are found at their old paths too, with a warning."""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

_FOLDERS: Final = {
    "base": "byte_cache errors metrics optional_calls public_cache security_log service_registry settings",
    "content": "folding limits markdown_effort markup operator_texts origins outline text",
    "db": "bulk changes raw_queries",
    "http": "downloads payload request responses",
    "web": "traversal views",
    "workers": "worker_threads",
}
MOVED: Final = {
    **{f"modhub.{name}": f"modhub.{folder}.{name}" for folder, names in _FOLDERS.items() for name in names.split()},
    "modhub.blobs.uploads": "modhub.http.uploads",
    "modhub.security.identity": "modhub.base.identity",
}
"""The new path of each module that features of 1.0 could import."""


class _MovedModules(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        warnings.warn(f"{old} is {MOVED[old]} now; the old path ends with 1.2", DeprecationWarning, stacklevel=2)
        # The import system returns what is there afterwards.
        sys.modules[old] = import_module(MOVED[old])


def find_moved_modules() -> None:
    """Let imports of the old paths succeed. Doing it again changes nothing."""
    if not any(isinstance(finder, _MovedModules) for finder in sys.meta_path):
        sys.meta_path.append(_MovedModules())
