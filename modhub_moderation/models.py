"""The table of moderators."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp


class Moderator(Base):
    """An account that may decide cases."""

    __tablename__ = "moderation_moderator"

    account_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    since: Mapped[datetime] = mapped_column(Timestamp)
