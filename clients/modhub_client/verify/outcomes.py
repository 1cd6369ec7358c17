"""How a check ends if not well, and how a run ends: the exit codes."""

from enum import IntEnum
from typing import Final

PROGRAM: Final = "modhub-verify"


class VerifyExit(IntEnum):
    """The exit codes; README.md has the same table."""

    KEPT = 0
    BROKEN = 1
    USAGE = 2
    UNREACHABLE = 3
    INTERRUPTED = 130


class Broken(Exception):
    """The service does not keep a clause. The sentence says what was expected and what came."""


class Skipped(Exception):
    """The check could not be tried, for this reason: the catalogue lacks what it needs, or the service is busy."""


class Absent(Exception):
    """The deployment leaves out this feature."""


class Unreachable(Exception):
    """Nobody answers at the address."""


class LeftBehind(Exception):
    """What a run has made and could not remove, in a sentence."""


class Interrupted(Exception):
    """The run ends, so this check does too."""
