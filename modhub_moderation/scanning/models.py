"""The tables of scanning: files that wait for the scanner, and what it found."""

from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp

RULE_NAME: Final = 200
"""Characters kept of the name of a rule."""


class WaitingFile(Base):
    """A file of a draft that was accepted while the scanner was down; the row goes when the scanner finds it clean."""

    __tablename__ = "moderation_waiting_file"

    blob_key: Mapped[str] = mapped_column(String(64), primary_key=True)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    since: Mapped[datetime] = mapped_column(Timestamp)
    rule: Mapped[str | None] = mapped_column(String(RULE_NAME))
    """What the scanner found in it later: it has to be replaced before the mod can be published."""


class ScanHit(Base):
    """What the scanner found: for moderators, who alone see the rule. Ids are NULL once what they name is deleted."""

    __tablename__ = "moderation_scan_hit"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int | None] = mapped_column(Id, index=True)
    mod_id: Mapped[int | None] = mapped_column(Id, index=True)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    size: Mapped[int] = mapped_column(BigInteger)
    rule: Mapped[str] = mapped_column(String(RULE_NAME))
    times: Mapped[int] = mapped_column(default=1)
    """How often the account has sent the file."""
    last_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
