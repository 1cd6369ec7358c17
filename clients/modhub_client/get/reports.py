"""The result of a command, and what is said of a mod in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from modhub_client.get.installation import LocalMod, ModInstallation
from modhub_client.get.outcome import ExitCode


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


def describe(installation: ModInstallation, mod: LocalMod) -> Mapping[str, Any]:
    """An installed mod as a JSON object."""
    return {
        "guid": mod.guid,
        "id": mod.id,
        "title": mod.title,
        "version": mod.version,
        "sha256": mod.sha256,
        "bytes": mod.bytes,
        "path": str(installation.path_of(mod)),
    }
