"""What a run changed and what not: told at once, or at the end as one JSON document."""

from collections.abc import Callable

from modhub_client.publish.publish import say


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

    def note(self, what: str, *, changed: bool) -> None:
        """Tell what became of a step."""
        (self.changed if changed else self.unchanged).append(what)
        if not self.as_json:
            word = ("Would do" if self.is_dry else "Done") if changed else "Unchanged"
            say(f"{word}: {what}")
