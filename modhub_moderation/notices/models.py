"""The table of publications."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp


class Publication(Base):
    """When a mod was first published; without a row it was before moderation was there."""

    __tablename__ = "moderation_publication"

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    published_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
