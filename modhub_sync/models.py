"""The rows of snapshots."""

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column, relationship

from modhub.blobs.models import StoredBlob
from modhub.db import Base, Id, Timestamp


class Snapshot(Base):
    """A file with all public documents up to a serial."""

    __tablename__ = "sync_snapshot"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    serial: Mapped[int] = mapped_column(BigInteger)
    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), index=True)
    made_at: Mapped[datetime] = mapped_column(Timestamp)

    blob: Mapped[StoredBlob] = relationship(lazy="raise")
