"""The table of advisories. It has nothing of mods and accounts, so it stays when they are deleted."""

from datetime import datetime

from sqlalchemy import Index, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp
from modhub_moderation.advisories.limits import ADVICE, ADVISORY_REASON, PREFIX_DIGITS


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
