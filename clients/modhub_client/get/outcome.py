"""How a run ends: the exit codes, and what a command reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Final

from modhub_client.output import ClientError

PROGRAM: Final = "modhub-get"


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


class DiskFull(ClientError):
    """There is no room for what has to be written."""

    def __init__(self, where: str = "") -> None:
        super().__init__(ExitCode.FOLDER, f"{where}The disk is full.")


@dataclass(frozen=True)
class Report:
    """The result of a command: lines for people, fields for programs, and the exit code.

    ``text`` is printed as it is; ``answers`` if printing is all that the command does; ``notices`` are always told.
    """

    lines: list[str]
    fields: Mapping[str, Any] = field(default_factory=dict)
    code: ExitCode = ExitCode.DONE
    text: str = ""
    answers: bool = False
    notices: Sequence[str] = ()
