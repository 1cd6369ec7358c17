"""Programs of the system that tests run."""

import shutil


def find_program(name: str) -> str:
    """The path of a program, also of those for root. AssertionError if it is not installed."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    assert found, f"{name} is not installed; `make help` names the target that installs it"
    return found
