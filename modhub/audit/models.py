"""The table of the audit trail."""

from datetime import datetime

from sqlalchemy import Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp

_PERSONAL = text("address IS NOT NULL OR name IS NOT NULL")


class AuditEntry(Base):
    """What somebody did. Written in the transaction of the action; only ``address`` and ``name`` are erased later."""

    __tablename__ = "core_audit_entry"
    __table_args__ = (
        Index("ix_core_audit_entry_actor", "actor_kind", "actor_id"),
        Index("ix_core_audit_entry_personal", "at", sqlite_where=_PERSONAL, postgresql_where=_PERSONAL),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    at: Mapped[datetime] = mapped_column(Timestamp)
    actor_kind: Mapped[str] = mapped_column(String(10))
    actor_id: Mapped[str] = mapped_column(String(80))
    action: Mapped[str] = mapped_column(String(60))
    target_kind: Mapped[str] = mapped_column(String(30))
    target_id: Mapped[str] = mapped_column(Text)
    details: Mapped[str] = mapped_column(Text)
    request_id: Mapped[str] = mapped_column(String(32))
    address: Mapped[str | None] = mapped_column(String(100))
    name: Mapped[str | None] = mapped_column(String(200))
