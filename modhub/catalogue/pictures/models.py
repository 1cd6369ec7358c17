"""The tables of derived pictures. Rows refer to images by their asset ids, which are never used again.

They have no foreign key to the image.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp


class PersonalData(StrEnum):
    """What an image tells beside what it shows."""

    LOCATION = "location"
    NAMES = "names"
    """A name, a copyright notice, or the serial number of a device."""


_NOT_SHOWN: Final = frozenset({"not_an_image", "damaged"})
_SVG: Final = "image/svg+xml"
_SHOWN_TYPES: Final = frozenset(
    {"image/apng", "image/avif", "image/bmp", "image/gif", "image/jpeg", "image/jpg", "image/png", "image/webp", _SVG}
)


def is_shown(content_type: str, problem: str | None, *, has_pictures: bool) -> bool:
    """Whether pages show a file as an image (C-PIC-5): what its bytes are counts, until that is known its type.

    ``problem`` as in `PictureSet`.
    """
    if has_pictures or problem in _NOT_SHOWN:
        return has_pictures
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == _SVG if problem == "svg" else media_type in _SHOWN_TYPES


class PictureTask(Base):
    """An image whose pictures are to be made. ``due_at`` is later while a worker has claimed it or after a failure."""

    __tablename__ = "core_picture_task"

    asset_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    due_at: Mapped[datetime] = mapped_column(Timestamp)
    attempts: Mapped[int] = mapped_column(default=0)


class PictureSet(Base):
    """What became of an image: its pictures, or the reason why there are none.

    ``width`` and ``height`` are those of the image as shown. ``digest`` identifies this set of pictures in their
    addresses. ``sizes`` are those of the pictures, smallest first: ``320x180 640x360 1280x720``. ``told`` is what its
    metadata tells, `PersonalData` separated by spaces.
    """

    __tablename__ = "core_picture_set"

    asset_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    width: Mapped[int | None]
    height: Mapped[int | None]
    digest: Mapped[str | None] = mapped_column(String(16))
    sizes: Mapped[str | None] = mapped_column(String(100))
    problem: Mapped[str | None] = mapped_column(String(20))
    made_at: Mapped[datetime] = mapped_column(Timestamp)
    told: Mapped[str | None] = mapped_column(String(40))


class PictureFile(Base):
    """One derived picture; ``name`` is the last segment of its address."""

    __tablename__ = "core_picture_file"
    __table_args__ = (UniqueConstraint("asset_id", "name"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    asset_id: Mapped[int] = mapped_column(Id)
    name: Mapped[str] = mapped_column(String(40))
    content_type: Mapped[str] = mapped_column(String(20))
    blob_id: Mapped[int] = mapped_column(ForeignKey("core_blob.id"), index=True)
    made_at: Mapped[datetime] = mapped_column(Timestamp)
