"""The tables of notices, cases, decisions and appeals. They refer to accounts and mods by plain ids."""

from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from modhub.content.limits import TITLE
from modhub.db import Base, Id, Timestamp
from modhub_auth.email_addresses import MAX_ADDRESS

CASE_TEXT: Final = 2000
"""Characters of a notice, of a decision's facts, of an appeal and of its reasons."""
CLAUSE: Final = 200
"""Characters of the clause of the law or the terms."""
REPORTER_NAME: Final = 120
"""Characters of a reporter's name."""
PART_KEY: Final = 200
"""Characters of what names one of several parts of a kind."""


class SubjectKind(StrEnum):
    """What a case is about."""

    MOD = "mod"
    ACCOUNT = "account"
    """An author's page, and what the author does."""


class Ground(StrEnum):
    """Why something is reported, and what a decision finds."""

    MALWARE = "malware"
    ILLEGAL = "illegal"
    STOLEN = "stolen"
    DECEPTIVE = "deceptive"
    BROKEN = "broken"
    OTHER = "other"


class DecisionKind(StrEnum):
    """What is decided. All but `DELETE` can be undone."""

    HIDE = "hide"
    REMOVE = "remove"
    """Take one part away: an image, a changelog entry, a description, an author's name ..."""
    BLOCK = "block"
    DELETE = "delete"
    DISMISS = "dismiss"
    """Nothing is done."""
    RELEASE = "release"
    """What the decision before did is undone, or a mod that an operator hid is shown."""
    UNBLOCK = "unblock"
    """The account that the decision before, or an operator, blocked may sign in."""


class Basis(StrEnum):
    """What a decision rests on."""

    LAW = "law"
    TERMS = "terms"


class Origin(StrEnum):
    """What made a case begin."""

    NOTICE = "notice"
    OWN = "own"
    """The moderators' own initiative."""


class AppealOutcome(StrEnum):
    """How an appeal ended."""

    UPHELD = "upheld"
    """The decision stands."""
    REVERSED = "reversed"
    """The decision is undone."""


def open_key(kind: SubjectKind, subject_id: int) -> str:
    """What is unique of an open case: there is one for each mod and account."""
    return f"{kind}:{subject_id}"


class Case(Base):
    """All notices about one mod or one account until a moderator decides, and the decisions."""

    __tablename__ = "moderation_case"
    __table_args__ = (
        Index("ix_moderation_case_subject", "subject_kind", "subject_id"),
        Index("ix_moderation_case_queue", "decided_at", "weight", "opened_at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    subject_kind: Mapped[str] = mapped_column(String(10))
    subject_id: Mapped[int] = mapped_column(Id)
    """The mod's id, or the account's."""
    owner_id: Mapped[int] = mapped_column(Id, index=True)
    """The account that it concerns: the owner of the mod, or the account itself."""
    title: Mapped[str] = mapped_column(String(TITLE), default="")
    """The title of the mod, or the author's name, when the case was opened; empty once it is erased."""
    origin: Mapped[str] = mapped_column(String(10))
    weight: Mapped[int] = mapped_column(default=0)
    """How urgent it is: higher first in the queue."""
    open_key: Mapped[str | None] = mapped_column(String(40), unique=True)
    """:func:`open_key` while no moderator has decided, then None."""
    opened_at: Mapped[datetime] = mapped_column(Timestamp)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """When a moderator decided first; None while the case is open."""
    ended_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    """The last decision, also that of an appeal; None while the case or an appeal is open."""

    @property
    def is_of_mod(self) -> bool:
        """Whether it is about a mod, not about an account."""
        return self.subject_kind == SubjectKind.MOD


class Notice(Base):
    """What one person reported. It is told to nobody but moderators."""

    __tablename__ = "moderation_notice"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("moderation_case.id"), index=True)
    receipt_hash: Mapped[str] = mapped_column(String(64), unique=True)
    """The SHA-256 of the receipt, in hexadecimal."""
    receipt: Mapped[str | None] = mapped_column(String(200))
    """The receipt, encrypted, for the link in the email about the outcome; None once the data are erased."""
    ground: Mapped[str] = mapped_column(String(10))
    text: Mapped[str] = mapped_column(String(CASE_TEXT))
    asset_id: Mapped[int | None] = mapped_column(Id)
    """The image that it names."""
    account_id: Mapped[int | None] = mapped_column(Id, index=True)
    """The account that reported; None for a stranger, and once it is deleted or the data are erased."""
    name: Mapped[str | None] = mapped_column(String(REPORTER_NAME))
    email: Mapped[str | None] = mapped_column(String(MAX_ADDRESS))
    locale: Mapped[str] = mapped_column(String(20), default="en")
    """The language of the emails to the person."""
    created_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    erased_at: Mapped[datetime | None] = mapped_column(Timestamp)
    """When text, name, address and account were erased."""


class Decision(Base):
    """What was decided in a case, and why. It is never rewritten: the next one in its case replaces it.

    The last one of each case is in force: what it hides, blocks and keeps aside is said by nothing else.
    """

    __tablename__ = "moderation_decision"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    case_id: Mapped[int] = mapped_column(ForeignKey("moderation_case.id"), index=True)
    replaces_id: Mapped[int | None] = mapped_column(ForeignKey("moderation_decision.id"), unique=True)
    """The decision before in the case."""
    kind: Mapped[str] = mapped_column(String(10))
    part: Mapped[str] = mapped_column(String(40), default="")
    """Which part is removed, as `config.add_removable_part` names it."""
    part_key: Mapped[str] = mapped_column(String(PART_KEY), default="")
    hides_mods: Mapped[bool] = mapped_column(default=False)
    """Whether the mods of a blocked account are hidden."""
    kept: Mapped[str | None] = mapped_column(Text)
    """What putting a removed part back needs, as JSON, while that is possible."""
    ground: Mapped[str] = mapped_column(String(10))
    basis: Mapped[str | None] = mapped_column(String(10))
    """Law or terms; None where nothing is done, or something is undone."""
    clause: Mapped[str] = mapped_column(String(CLAUSE), default="")
    facts: Mapped[str] = mapped_column(String(CASE_TEXT))
    origin: Mapped[str] = mapped_column(String(10))
    automatic: Mapped[bool] = mapped_column(default=False)
    """Whether no person made it: the one before has ended by itself."""
    moderator_id: Mapped[int | None] = mapped_column(Id, index=True)
    """The account that decided; None if it is automatic."""
    until: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    """When it ends by itself; None if it does not."""
    decided_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    appeal_hash: Mapped[str | None] = mapped_column(String(64), unique=True)
    """The SHA-256 of the secret in the link to appeal; None if there is nothing to appeal."""
    appeal_until: Mapped[datetime | None] = mapped_column(Timestamp)


class Appeal(Base):
    """What the person concerned says against a decision; once for each."""

    __tablename__ = "moderation_appeal"
    __table_args__ = ({"sqlite_autoincrement": True},)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    decision_id: Mapped[int] = mapped_column(ForeignKey("moderation_decision.id"), unique=True)
    text: Mapped[str] = mapped_column(String(CASE_TEXT))
    created_at: Mapped[datetime] = mapped_column(Timestamp)
    decided_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)
    outcome: Mapped[str | None] = mapped_column(String(10))
    reasons: Mapped[str] = mapped_column(String(CASE_TEXT), default="")
    moderator_id: Mapped[int | None] = mapped_column(Id)
