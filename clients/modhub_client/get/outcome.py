"""How a run ends: the exit codes, and the exception that carries one."""

from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """The exit codes; docs/clients.md has the same table."""

    DONE = 0
    BAD_ANSWER = 1
    ADVISED = 1  # the same code: either way nothing of it should be used
    WRONG_CALL = 2
    NOT_AVAILABLE = 3
    UNREACHABLE = 4
    CONFLICT = 5
    DIFFERENT = 6
    FOLDER = 7
    INTERRUPTED = 130


class GetError(Exception):
    """Ends the run with an exit code and a sentence; ``details`` are further fields of the JSON output."""

    def __init__(self, code: ExitCode, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self.code = code
        self.details = details


class DiskFull(GetError):
    """There is no room for what has to be written."""

    def __init__(self, where: str = "") -> None:
        super().__init__(ExitCode.FOLDER, f"{where}The disk is full.")
