"""What a run changed and what not: told at once, or at the end as one JSON document."""

from modhub_publish.publish import say


class StepReport:
    """The steps of a run. In a dry run they are only told."""

    def __init__(self, *, is_dry: bool, as_json: bool) -> None:
        self.is_dry = is_dry
        self.as_json = as_json
        self.changed: list[str] = []
        self.unchanged: list[str] = []

    def note(self, what: str, *, changed: bool) -> bool:
        """Note a step; returns whether it has to be done."""
        (self.changed if changed else self.unchanged).append(what)
        if not self.as_json:
            word = ("Would do" if self.is_dry else "Done") if changed else "Unchanged"
            say(f"{word}: {what}")
        return changed and not self.is_dry
