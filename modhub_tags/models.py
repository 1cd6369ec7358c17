"""The tables: the operator's list, and the tags of mods."""

from sqlalchemy import ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id
from modhub_tags.limits import TAG_NAME, TAG_TITLE


class Tag(Base):
    """A tag that authors may choose, with what readers see."""

    __tablename__ = "tags_tag"

    name: Mapped[str] = mapped_column(String(TAG_NAME), primary_key=True)
    title_en: Mapped[str] = mapped_column(String(TAG_TITLE))
    title_de: Mapped[str] = mapped_column(String(TAG_TITLE))


class ModTag(Base):
    """A tag of a mod, published or not."""

    __tablename__ = "tags_mod"
    __table_args__ = (Index("ix_tags_mod_tag_mod_id", "tag", "mod_id"),)

    mod_id: Mapped[int] = mapped_column(Id, primary_key=True, autoincrement=False)
    tag: Mapped[str] = mapped_column(ForeignKey("tags_tag.name"), primary_key=True)
