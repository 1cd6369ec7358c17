"""The tables of accounts. No password, token or code is stored in clear."""

import secrets
from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, validates

from modhub.content.folding import fold_search
from modhub.db import Base, Id, Timestamp
from modhub_auth.email_addresses import MAX_ADDRESS

MAX_DISPLAY_NAME: Final = 80
"""Code points of an account's name; a longer one is cut (C-ACC-2)."""
MAX_CLIENT_LABEL: Final = 80
"""Code points of a client's label."""
BLOCK_REASON: Final = 200
"""Code points of a block's reason."""


HELD: Final = "held after a restore"
"""The problem of an email that waited when its database was backed up: it may have been sent since."""


KEY_PLATFORM: Final = "key"
"""The platform of a publisher key's login."""


class LoginKind(StrEnum):
    """The kind of a login, and of the login that an account was created with."""

    PASSWORD = "Password"  # noqa: S105 - a word of the contract
    PLATFORM = "Platform"
    KEY = "Key"
    """A publisher key: no way to sign in on pages, and no account is created with it."""


def new_random_id() -> str:
    """128 random bits."""
    return secrets.token_hex(16)


class Account(Base):
    """An account. Sign-in, refresh, reset and deletion lock its row."""

    __tablename__ = "auth_account"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(8))
    display_name: Mapped[str] = mapped_column(String(MAX_DISPLAY_NAME))
    folded_name: Mapped[str] = mapped_column(Text)
    """The name as searches compare it."""
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    blocked_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """When the operator blocked it; None if it may sign in."""
    block_reason: Mapped[str | None] = mapped_column(String(BLOCK_REASON))
    """A note for operators, shown to nobody else."""

    @validates("display_name")
    def _fold_name(self, _key: str, name: str) -> str:
        self.folded_name = fold_search(name)
        return name


class Login(Base):
    """A way to sign in to an account: an email address with a password, or an identity at a game platform."""

    __tablename__ = "auth_login"
    __table_args__ = (UniqueConstraint("platform", "subject"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(8))
    platform: Mapped[str] = mapped_column(String(20), default="")
    """The platform's name, empty for a password login. A subject is unique per platform."""
    subject: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    verified: Mapped[bool] = mapped_column(default=False)
    password_hash: Mapped[str | None] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    random_id: Mapped[str] = mapped_column(String(32), default=new_random_id)
    """What tokens name the login by besides its number, which a database that lost rows may give out again."""


BY_PASSWORD: Final = (Login.kind == LoginKind.PASSWORD, Login.platform == "")
"""The condition of logins with an email address. An account has one at most."""


class PublisherKey(Base):
    """What a login of kind "Key" is for, with the hash of its text."""

    __tablename__ = "auth_publisher_key"

    login_id: Mapped[int] = mapped_column(
        ForeignKey("auth_login.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    key_hash: Mapped[str] = mapped_column(String(64), unique=True)
    mod_id: Mapped[int | None] = mapped_column(BigInteger)
    """The one mod that it is for; None for all mods of the account."""
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    used_at: Mapped[datetime | None] = mapped_column(Timestamp)
    expires_at: Mapped[datetime | None] = mapped_column(Timestamp)


class ClientSession(Base):
    """A signed-in program, with the hash of its one valid refresh token. Each refresh replaces the token."""

    __tablename__ = "auth_client"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    login_id: Mapped[int] = mapped_column(ForeignKey("auth_login.id", ondelete="CASCADE"), index=True)
    label: Mapped[str] = mapped_column(String(MAX_CLIENT_LABEL))
    refresh_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    used_at: Mapped[datetime] = mapped_column(Timestamp)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class DeviceCode(Base):
    """The sign-in that a program began and a person allows elsewhere, with the hashes of its two codes."""

    __tablename__ = "auth_device_code"
    __table_args__ = {"sqlite_autoincrement": True, "info": {"in_backup": False}}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    device_hash: Mapped[str] = mapped_column(String(64), unique=True)
    user_hash: Mapped[str] = mapped_column(String(64), unique=True)
    label: Mapped[str] = mapped_column(String(MAX_CLIENT_LABEL))
    address: Mapped[str] = mapped_column(String(64))
    """The program's address, for the person who decides."""
    account_id: Mapped[int | None] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    """Who allowed it; None while it is pending, and when it was denied."""
    login_id: Mapped[int | None] = mapped_column(ForeignKey("auth_login.id", ondelete="CASCADE"), index=True)
    denied: Mapped[bool] = mapped_column(default=False)
    polled_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """The last poll that was not too early."""
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class Offer(Base):
    """A mod that its owner offers to another account. The row stays until its day, also when it was answered."""

    __tablename__ = "auth_offer"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    mod_id: Mapped[int] = mapped_column(BigInteger, index=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    named: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    """The address or number that the owner typed: all that the owner learns about the other account."""
    recipient_id: Mapped[int | None] = mapped_column(ForeignKey("auth_account.id", ondelete="SET NULL"), index=True)
    """The account of that name; None if there was none, or is none any more."""
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    closed_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """When it was accepted, declined or withdrawn."""


class Attempt(Base):
    """An attempt in one counter of :mod:`modhub_auth.rate_limits`. ``place`` names the `Slot` of the attempt."""

    __tablename__ = "auth_attempt"
    __table_args__ = (Index("ix_auth_attempt_counter_at", "counter", "at"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    counter: Mapped[str] = mapped_column(String(64))
    place: Mapped[str] = mapped_column(String(32), index=True)
    at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    settled: Mapped[bool]


class Authenticator(Base):
    """The second factor of an account, its secret encrypted. The last used time step makes each code valid once."""

    __tablename__ = "auth_authenticator"

    account_id: Mapped[int] = mapped_column(
        ForeignKey("auth_account.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    sealed: Mapped[str] = mapped_column(String(255))
    last_step: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime] = mapped_column(Timestamp)


class RecoveryCode(Base):
    """A code that replaces one of the authenticator once; using it deletes it."""

    __tablename__ = "auth_recovery_code"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    code_hash: Mapped[str] = mapped_column(String(64))


class OutgoingEmail(Base):
    """An email in the outbox. Its content is encrypted, because links are secrets, and deleted once it is sent.

    Of a dead email it stays, so that the operator can retry it.
    """

    __tablename__ = "auth_letter"
    __table_args__ = (Index("ix_auth_letter_due", "finished_at", "next_at"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    recipient: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    sealed: Mapped[str | None] = mapped_column(Text)
    message_id: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    next_at: Mapped[datetime] = mapped_column(Timestamp)
    attempts: Mapped[int] = mapped_column(default=0)
    finished_at: Mapped[datetime | None] = mapped_column(Timestamp)
    problem: Mapped[str | None] = mapped_column(String(200))
    """Why the last attempt failed. A finished email with a problem is dead, or held (`HELD`)."""


class Link(Base):
    """A link in an email, with the hash of its secret. It works once."""

    __tablename__ = "auth_link"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    purpose: Mapped[str] = mapped_column(String(8))
    account_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    login_id: Mapped[int | None] = mapped_column(ForeignKey("auth_login.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    address: Mapped[str | None] = mapped_column(String(MAX_ADDRESS))
    password_hash: Mapped[str | None] = mapped_column(String(255))
    expires_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class ResetRequest(Base):
    """A request to reset the password of an address, which may have no account. The mail worker looks it up."""

    __tablename__ = "auth_reset_request"

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    address: Mapped[str] = mapped_column(String(MAX_ADDRESS))
    language: Mapped[str] = mapped_column(String(20))
    asked_at: Mapped[datetime] = mapped_column(Timestamp)


class PageSession(Base):
    """A session on pages: the cookie holds a secret, this row its hash (C-PAGE-7)."""

    __tablename__ = "auth_page_session"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("auth_account.id", ondelete="CASCADE"), index=True)
    login_id: Mapped[int] = mapped_column(ForeignKey("auth_login.id", ondelete="CASCADE"), index=True)
    secret_hash: Mapped[str] = mapped_column(String(64), unique=True)
    label: Mapped[str] = mapped_column(String(MAX_CLIENT_LABEL))
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    used_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    proved_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """The last sign-in at a platform in this session, with the code if the account requires one."""


class Nonce(Base):
    """The used nonce of a platform's assertion."""

    __tablename__ = "auth_nonce"

    hash: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[datetime] = mapped_column(Timestamp, index=True)
