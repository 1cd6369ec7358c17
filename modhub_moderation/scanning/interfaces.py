"""What a scanner of uploads is."""

from typing import Protocol


class ScannerDown(Exception):
    """The scanner cannot say what a file is: it does not answer, or refuses to look. The message is a clause."""


class Scan(Protocol):
    """The scan of one file. All methods raise :class:`ScannerDown`, but for ``close``."""

    def send(self, chunk: bytes) -> None:
        """Take the next bytes of the file."""

    def finish(self) -> str | None:
        """The file has ended: the name of the rule that it matches, None if it is clean."""

    def close(self) -> None:
        """End the scan, finished or not."""


class Scanner(Protocol):
    """A scanner, shared by all threads."""

    def begin(self) -> Scan:
        """Begin the scan of a file; :class:`ScannerDown` if there is nobody to do it."""

    def find_problems(self) -> list[str]:
        """What keeps it from finding something in the largest upload: sentences for ``modhub-admin doctor``."""
