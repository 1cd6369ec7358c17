"""The tables of the audit trail (ADR 028)."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, SmallInteger, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp

_UNSEALED = text("number IS NULL")


class AuditEntry(Base):
    """What somebody did. Written in the transaction of the action, sealed once afterwards, and never changed again.

    ``token`` is random and unique; ``mac`` proves that this service wrote the entry. ``number`` and ``digest`` are its
    place in the chain, empty until it is sealed.
    """

    __tablename__ = "core_audit_entry"
    __table_args__ = (
        Index("ix_core_audit_entry_unsealed", "id", sqlite_where=_UNSEALED, postgresql_where=_UNSEALED),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    token: Mapped[str] = mapped_column(String(32), unique=True)
    at: Mapped[datetime] = mapped_column(Timestamp)
    actor_kind: Mapped[str] = mapped_column(String(10))
    actor_id: Mapped[str] = mapped_column(String(80))
    action: Mapped[str] = mapped_column(String(60))
    target_kind: Mapped[str] = mapped_column(String(30))
    target_id: Mapped[str] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    request_id: Mapped[str] = mapped_column(String(32))
    personal_digest: Mapped[str] = mapped_column(String(64))
    mac: Mapped[str] = mapped_column(String(64))
    number: Mapped[int | None] = mapped_column(BigInteger, unique=True)
    digest: Mapped[str | None] = mapped_column(String(64))


class PersonalPart(Base):
    """The personal part of an entry. The chain holds only its salted hash, so it can be erased."""

    __tablename__ = "core_audit_personal"

    token: Mapped[str] = mapped_column(String(32), primary_key=True)
    at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    account_id: Mapped[int | None] = mapped_column(BigInteger, index=True)
    address: Mapped[str] = mapped_column(String(100))
    name: Mapped[str] = mapped_column(String(200))
    salt: Mapped[str] = mapped_column(String(32))


class AuditHead(Base):
    """The number and digest of the last sealed entry. Its one row is the lock of the sealer."""

    __tablename__ = "core_audit_head"
    __table_args__ = {"info": {"in_empty_database": True}}

    id: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(BigInteger)
    digest: Mapped[str] = mapped_column(String(64))
