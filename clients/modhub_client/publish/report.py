"""What a run changed and what not: told at once, or at the end as one JSON document."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from modhub_client.output import printable, write_now
from modhub_client.publish.client import complain


class StepReport:
    """The steps of a run. In a dry run they are only told."""

    def __init__(self, *, is_dry: bool, as_json: bool) -> None:
        self.is_dry = is_dry
        self.as_json = as_json
        self.changed: list[str] = []
        self.unchanged: list[str] = []

    def take(self, what: str, *, is_due: bool, send: Callable[[], object]) -> None:
        """Take a step if it is due and this is no dry run, and tell."""
        if is_due and not self.is_dry:
            send()
        self.note(what, changed=is_due)

    def note(self, what: str, *, changed: bool, told: str = "") -> None:
        """Tell what became of a step, in the words of ``told`` if there are any."""
        (self.changed if changed else self.unchanged).append(what)
        word = ("Would do" if self.is_dry else "Done") if changed else "Unchanged"
        self.say(told or f"{word}: {what}")

    def say(self, line: str) -> None:
        """A line for people."""
        if not self.as_json:
            say(line)

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Print the document, if that is what is wanted."""
        if self.as_json:
            say(json.dumps({"changed": self.changed, "unchanged": self.unchanged, **facts}))


def say(line: str) -> None:
    """Print a line to the build log. What was sent is sent, even if that is full or closed."""
    write_text(f"{printable(line)}\n")


def write_text(text: str) -> None:
    """Print a text as it is."""
    problem = write_now(sys.stdout, text)
    if problem is not None:
        complain(f"the output could not be written: {problem.strerror}")
