"""The tables: what owners say about their mods, and authors about themselves."""

from datetime import datetime

from sqlalchemy import ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp
from modhub_profiles.limits import MAX_LINK, MAX_LINKS, SENTENCE, STORED_LICENSE


class ModLinks(Base):
    """The links and the licence of a mod, empty where there are none; no row until its owner sets one."""

    __tablename__ = "profiles_links"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(String(MAX_LINK), default="")
    report: Mapped[str] = mapped_column(String(MAX_LINK), default="")
    community: Mapped[str] = mapped_column(String(MAX_LINK), default="")
    license: Mapped[str] = mapped_column(String(STORED_LICENSE), default="")


class AuthorProfile(Base):
    """What an account says about itself. ``links`` are separated by line breaks; ``picture_id`` is its picture."""

    __tablename__ = "profiles_author"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    sentence: Mapped[str] = mapped_column(String(SENTENCE), default="")
    links: Mapped[str] = mapped_column(String(MAX_LINKS * (MAX_LINK + 1)), default="")
    picture_id: Mapped[int | None] = mapped_column(ForeignKey("core_blob.id"), index=True)
    pictured_at: Mapped[datetime | None] = mapped_column(Timestamp)


class KeptPicture(Base):
    """An author's picture that a moderator removed, kept aside as long as its account exists."""

    __tablename__ = "profiles_kept_picture"

    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), primary_key=True, autoincrement=False)
    account_id: Mapped[int] = mapped_column(Id, index=True)
    pictured_at: Mapped[datetime] = mapped_column(Timestamp)
