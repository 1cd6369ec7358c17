"""Copies of the source tree, in which mutants are made, and runs of their tests (`mutants`)."""

import compileall
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

COPIES: Final = 2
"""As many mutants are tried at the same time."""
MEMORY_KIB: Final = 6 * 1024 * 1024
"""Address space of a test: what never ends must not take the memory of the machine."""
LIMITED: Final = ("sh", "-c", f'ulimit -v {MEMORY_KIB} && exec "$@"', "limited")
NOT_COPIED: Final = (".git", ".venv", "var", "build", "dist", "node_modules", "__pycache__", ".*_cache")


def copy_tree(root: Path, folder: Path) -> list[Path]:
    """Copy the source tree below ``folder``; all copies use the same virtual environment."""
    copies = [folder / f"copy-{number}" for number in range(COPIES)]
    for copy in copies:
        shutil.copytree(root, copy, symlinks=True, ignore=shutil.ignore_patterns(*NOT_COPIED))
        (copy / ".venv").symlink_to(sys.prefix)
        # By its text, not by its time: a mutant may be as long as the original, and come within the same second.
        compileall.compile_dir(copy, quiet=2, force=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return copies


def environ_of(root: Path) -> dict[str, str]:
    """The environment in which programs run the code of a copy."""
    path = f"{root}{os.pathsep}{root / 'clients'}"
    return {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run_tests(root: Path, database: str, tests: Sequence[str], seconds: float) -> tuple[int | None, str]:
    """(pytest's exit code, what it says) of tests in a copy; None if they have not ended after ``seconds``."""
    options = ("-q", "-x", "-p", "no:cacheprovider", "--timeout=0", "--databases", database)
    process = subprocess.Popen(  # noqa: S603 - pytest
        [*LIMITED, sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        env=environ_of(root),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"The tests have not ended after {seconds:.0f} seconds."
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode, output
