"""The table of archives of personal data."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column, relationship

from modhub.blobs.models import StoredBlob
from modhub.db import Base, Id, Timestamp


class DataArchive(Base):
    """The one archive of an account: asked for, or ready with its file."""

    __tablename__ = "moderation_data_archive"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    asked_at: Mapped[datetime] = mapped_column(Timestamp)
    language: Mapped[str] = mapped_column(String(20))
    """Of the email that says that it is ready."""
    attempts: Mapped[int] = mapped_column(default=0)
    """How often making it has failed."""
    next_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    """When it is made, or tried again."""
    blob_id: Mapped[int | None] = mapped_column(ForeignKey("core_blob.id"), index=True)
    """None until it is ready."""
    ready_at: Mapped[datetime | None] = mapped_column(Timestamp, index=True)

    blob: Mapped[StoredBlob | None] = relationship(lazy="raise")
