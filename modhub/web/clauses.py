"""The text of the clauses that operations name: each package has those of its own in ``clauses.json``.

``tools/write_clauses.py`` writes the files from docs/contract.md, which no wheel has.
"""

from importlib.resources import files
from typing import Final

import msgspec

CLAUSES_FILE: Final = "clauses.json"


def read_clauses(package: str) -> dict[str, str]:
    """The clauses of a package by id, one line each; none if it has no such file."""
    try:
        content = files(package).joinpath(CLAUSES_FILE).read_bytes()
    except (FileNotFoundError, TypeError):  # TypeError: a single module
        return {}
    return msgspec.json.decode(content, type=dict[str, str])
