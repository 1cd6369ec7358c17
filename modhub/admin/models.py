"""Tables for the operation of the service."""

from datetime import datetime

from sqlalchemy import String, Text
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Timestamp


class Observation(Base):
    """What a process noticed that ``modhub-admin doctor`` and others need to know, by a name."""

    __tablename__ = "core_observation"
    __table_args__ = {"info": {"in_backup": False}}

    name: Mapped[str] = mapped_column(String(100), primary_key=True)
    observed_at: Mapped[datetime] = mapped_column(Timestamp)
    text: Mapped[str] = mapped_column(Text)
