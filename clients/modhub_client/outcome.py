"""How a run of a program ends if not well."""

from typing import Any, Final

WRONG_USE: Final = 2
"""The exit code of a wrong call, which argparse has too. The other codes are each program's own."""


class ClientError(Exception):
    """Ends the run with an exit code and a sentence; ``details`` are further fields of the JSON output."""

    def __init__(self, code: int, sentence: str, **details: Any) -> None:
        super().__init__(sentence)
        self.code = code
        self.details = details


class WrongUse(ClientError):
    """The program was called in a wrong way."""

    def __init__(self, sentence: str) -> None:
        super().__init__(WRONG_USE, sentence)
