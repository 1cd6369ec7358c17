"""The limits of advisories."""

import re
from enum import StrEnum
from typing import Final

ADVISORY_REASON: Final = 500
"""Characters of what is known."""
ADVICE: Final = 500
"""Characters of what to do."""
PREFIX_DIGITS: Final = 5
"""Hexadecimal digits that are asked with: about one in a million files is meant."""
NEWEST_ADVISORIES: Final = 100
"""Advisories on the page and in the feeds."""
EMPTY_FILE: Final = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""The SHA-256 of a file without content, which too many have."""
_SHA256: Final = re.compile("[0-9a-fA-F]{64}")
_PREFIX: Final = re.compile(f"[0-9a-fA-F]{{{PREFIX_DIGITS}}}")


class AdvisoryKind(StrEnum):
    """What is wrong with a file."""

    MALWARE = "malware"
    VULNERABLE = "vulnerable"
    ILLEGAL = "illegal"
    OTHER = "other"


def clean_sha256(value: str) -> str | None:
    """The digest in lower case; None if it is not one of 64 hexadecimal digits."""
    return value.lower() if _SHA256.fullmatch(value) else None


def clean_prefix(value: str) -> str | None:
    """The same of five digits."""
    return value.lower() if _PREFIX.fullmatch(value) else None
