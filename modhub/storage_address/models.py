"""The table of the storage machine's address."""

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Timestamp


class StoredAddress(Base):
    """The single row with the address; ``base_url`` is None until the first report."""

    __tablename__ = "core_storage_address"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    base_url: Mapped[str | None] = mapped_column(String(300))
    reported_at: Mapped[datetime | None] = mapped_column(Timestamp)


THE_ROW = StoredAddress.id == 1
"""The condition that selects the row; the migration inserts it."""
