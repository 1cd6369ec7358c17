"""Builds packages for tests, in a separate process as pip does."""

import subprocess
import sys

import pytest

BUILD = """
import sys
from setuptools import build_meta
print(getattr(build_meta, sys.argv[1])(sys.argv[2]))
"""


def run_hook(name, source, target):
    target.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-I", "-W", "error::UserWarning", "-c", BUILD, name, str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.fixture(name="run_hook", scope="session")
def _run_hook():
    """``run_hook("build_wheel", source, target)``: the file that this hook of setuptools made."""
    return run_hook
