"""The rows of app builds and of the app changelog."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, String, Text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from modhub.blobs.models import StoredBlob
from modhub.content.limits import CONTENT_TYPE, FILE_NAME, VERSION
from modhub.db import Base, Id, Timestamp
from modhub_builds.limits import OS


class Build(Base):
    """One upload for one operating system; never deleted. Later builds have higher ids, and ids are not reused."""

    __tablename__ = "builds_build"
    __table_args__ = (Index("ix_builds_build_os_id", "os", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    os: Mapped[str] = mapped_column(String(OS))
    version: Mapped[str] = mapped_column(String(VERSION))
    name: Mapped[str] = mapped_column(String(FILE_NAME))
    content_type: Mapped[str] = mapped_column(String(CONTENT_TYPE))
    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), index=True)
    uploaded_at: Mapped[datetime] = mapped_column(Timestamp)

    blob: Mapped[StoredBlob] = relationship(lazy="raise")


class ChangelogSection(Base):
    """A section of the app changelog; a withdrawn one is hidden, not deleted (C-APP-2)."""

    __tablename__ = "builds_section"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    text: Mapped[str] = mapped_column(Text)
    added_at: Mapped[datetime] = mapped_column(Timestamp)
    hidden_at: Mapped[datetime | None] = mapped_column(Timestamp)
