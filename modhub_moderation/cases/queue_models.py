"""What the queue knows besides cases: who published for the first time, and how titles look."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from modhub.content.limits import TITLE
from modhub.db import Base, Id, Timestamp


class FirstPublication(Base):
    """The first mod that an account has published since this feature is there."""

    __tablename__ = "moderation_first_publication"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    mod_id: Mapped[int] = mapped_column(Id, index=True)
    published_at: Mapped[datetime] = mapped_column(Timestamp, index=True)


class TitleShape(Base):
    """How the title of a published mod looks: titles with one shape can be taken for each other."""

    __tablename__ = "moderation_title_shape"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    owner_id: Mapped[int] = mapped_column(Id)
    title: Mapped[str] = mapped_column(String(TITLE))
    shape: Mapped[str] = mapped_column(Text, index=True)
    serial: Mapped[int] = mapped_column(Id, index=True)
    """The serial of the mod's last change when it was read: the worker goes on from the highest."""
