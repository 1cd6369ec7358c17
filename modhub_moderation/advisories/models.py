"""The table of advisories, and their limits. It has nothing of mods and accounts, so it stays when they are deleted."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp

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


class Advisory(Base):
    """What is known of one file, for everybody who has it. A withdrawn one is kept, and told as withdrawn."""

    __tablename__ = "moderation_advisory"
    __table_args__ = (Index("ix_moderation_advisory_changed_at_sha256", "changed_at", "sha256"),)

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    prefix: Mapped[str] = mapped_column(String(PREFIX_DIGITS), index=True)
    """The first digits of the digest: a range of texts depends on the database's language."""
    kind: Mapped[str] = mapped_column(String(10))
    reason: Mapped[str] = mapped_column(String(ADVISORY_REASON))
    advice: Mapped[str] = mapped_column(String(ADVICE))
    since: Mapped[datetime] = mapped_column(Timestamp)
    withdrawn_at: Mapped[datetime | None] = mapped_column(Timestamp)
    changed_at: Mapped[datetime] = mapped_column(Timestamp)
    """The later one of the two."""
    decision_id: Mapped[int | None] = mapped_column(Id, index=True)
    """The decision that made it; None: the operator's command."""
