"""The tables of the wiki. A page's history is never removed, and revision numbers are not reused."""

from datetime import datetime
from typing import Final

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from modhub.content.limits import TITLE
from modhub.db import Base, Id, Timestamp
from modhub_wiki.limits import PATH

MAX_AUTHOR: Final = 12
"""Characters of a key's fingerprint."""


class Page(Base):
    """A page. A deleted page keeps its row, so that numbering continues if it is published again."""

    __tablename__ = "wiki_page"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    path: Mapped[str] = mapped_column(String(PATH), unique=True)
    title: Mapped[str] = mapped_column(String(TITLE))
    revision: Mapped[int] = mapped_column()
    updated_at: Mapped[datetime] = mapped_column(Timestamp)
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp)


class Revision(Base):
    """A published revision: the Markdown, the HTML rendered from it, and its table of contents (a JSON list).

    ``author`` is the fingerprint of the machine key that published it (:func:`modhub_wiki.views.fingerprint`).
    """

    __tablename__ = "wiki_revision"
    __table_args__ = (UniqueConstraint("page_id", "number"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    page_id: Mapped[int] = mapped_column(ForeignKey("wiki_page.id"))
    number: Mapped[int] = mapped_column()
    title: Mapped[str] = mapped_column(String(TITLE))
    author: Mapped[str] = mapped_column(String(MAX_AUTHOR))
    created_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    # Long columns last: SQLite reads a row from its beginning.
    text: Mapped[str] = mapped_column(Text)
    html: Mapped[str] = mapped_column(Text)
    contents: Mapped[str] = mapped_column(Text)


class PageSearchText(Base):
    """The search index: the newest plain text of each page that is not deleted; also folded, line by line."""

    __tablename__ = "wiki_words"

    page_id: Mapped[int] = mapped_column(ForeignKey("wiki_page.id"), primary_key=True, autoincrement=False)
    plain: Mapped[str] = mapped_column(Text)
    folded: Mapped[str] = mapped_column(Text)
