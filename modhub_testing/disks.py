"""File systems of their own for tests: small ones, that can be filled."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own in ``folder``, of a size as of ``mount``; needs root and a kernel that lets it mount."""
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no program called mount here")
    command = [mount, "-t", "tmpfs", "-o", f"size={size}", "modhub-test", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a fixed program
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run([umount, "--lazy", str(folder)], check=True)  # noqa: S603 - a fixed program


def fill_disk(file: Path, rest: int) -> None:
    """Write ``file`` until its file system has only so many bytes free."""
    status = os.statvfs(file.parent)
    with file.open("wb") as stream:
        os.posix_fallocate(stream.fileno(), 0, status.f_bavail * status.f_frsize - rest)
