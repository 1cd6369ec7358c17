"""The table of uploads that count."""

from datetime import datetime

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp


class CountedUpload(Base):
    """A file that an account has stored within the last hour; only written while uploads have a limit."""

    __tablename__ = "moderation_counted_upload"
    __table_args__ = (Index("ix_moderation_counted_upload_account_id_at", "account_id", "at"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    account_id: Mapped[int] = mapped_column(Id)
    at: Mapped[datetime] = mapped_column(Timestamp, index=True)
