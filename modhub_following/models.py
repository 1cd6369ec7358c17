"""The tables of following. They refer to accounts and mods by plain ids."""

import secrets
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from modhub.content.limits import GAME
from modhub.db import Base, Id, Timestamp


class TargetKind(StrEnum):
    """What can be followed, in the order of :class:`modhub.plugins.services.ChangeWatch`."""

    MOD = "mod"
    AUTHOR = "author"
    GAME = "game"


class Frequency(StrEnum):
    """How often an account gets a digest at most."""

    NONE = "none"
    DAILY = "daily"
    WEEKLY = "weekly"


class Follow(Base):
    """An account follows a mod, an author or a game.

    ``key`` is the id of the mod or of the author's account, or the folded name of the game, whose ``name`` is kept.
    """

    __tablename__ = "following_follow"
    __table_args__ = (
        UniqueConstraint("account_id", "kind", "key"),
        Index("ix_following_follow_target", "kind", "key"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(Id)
    kind: Mapped[str] = mapped_column(String(6))
    key: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(String(GAME), default="")
    created_at: Mapped[datetime] = mapped_column(Timestamp)


def _new_random_id() -> str:
    return secrets.token_hex(16)


class Reader(Base):
    """What an account that follows has chosen. Its row is locked while the account's follows or digests change."""

    __tablename__ = "following_reader"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    frequency: Mapped[str] = mapped_column(String(6), index=True)
    language: Mapped[str] = mapped_column(String(20))
    sent_at: Mapped[datetime | None] = mapped_column(Timestamp)
    told_until: Mapped[datetime | None] = mapped_column(Timestamp)
    """What is new since then is in the next digest; at first the moment at which the frequency was chosen."""
    random_id: Mapped[str] = mapped_column(String(32), default=_new_random_id)
    """What the links that end digests name besides the account's number."""
    seen_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """What changed until then is no longer unread; without it all that changed since it is followed."""
    feed_hash: Mapped[str | None] = mapped_column(String(64), index=True, unique=True)
    """The SHA-256 of the secret in the address of the private feed, in hexadecimal; None if there is none."""
    feed_made_at: Mapped[datetime | None] = mapped_column(Timestamp)
