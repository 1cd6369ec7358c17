"""The table of leases."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Timestamp


class Lease(Base):
    """The worker ``name`` runs in the process ``holder`` only, ``until`` then by the database's clock."""

    __tablename__ = "core_lease"
    __table_args__ = {"info": {"in_backup": False}}

    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    holder: Mapped[str] = mapped_column(String(32))
    until: Mapped[datetime] = mapped_column(Timestamp)
