"""The rows of the wiki. Nothing of a page's history is ever removed, and no number is given out again."""

from datetime import datetime
from typing import Final

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from modhub.db import Base, Id, Timestamp
from modhub.limits import TITLE
from modhub_wiki.limits import PATH

MAX_AUTHOR: Final = 12
"""Characters of the fingerprint of a key."""


class Page(Base):
    """A page. One that was deleted keeps its row, so that its revisions are numbered on when it is published again."""

    __tablename__ = "wiki_page"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    path: Mapped[str] = mapped_column(String(PATH), unique=True)
    title: Mapped[str] = mapped_column(String(TITLE))
    revision: Mapped[int] = mapped_column()
    updated_at: Mapped[datetime] = mapped_column(Timestamp)
    deleted_at: Mapped[datetime | None] = mapped_column(Timestamp)


class Revision(Base):
    """What was published once: the Markdown and, rendered from it then, the HTML and its contents (a JSON list).

    ``author`` is the fingerprint of the machine key that published it (:func:`modhub_wiki.agent_views.fingerprint`).
    """

    __tablename__ = "wiki_revision"
    __table_args__ = (UniqueConstraint("page_id", "number"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    page_id: Mapped[int] = mapped_column(ForeignKey("wiki_page.id"))
    number: Mapped[int] = mapped_column()
    title: Mapped[str] = mapped_column(String(TITLE))
    author: Mapped[str] = mapped_column(String(MAX_AUTHOR))
    created_at: Mapped[datetime] = mapped_column(Timestamp, index=True)
    # The long ones last: SQLite reads a row from its beginning.
    text: Mapped[str] = mapped_column(Text)
    html: Mapped[str] = mapped_column(Text)
    contents: Mapped[str] = mapped_column(Text)


class PageSearchText(Base):
    """What search looks at: the newest text of a page that is there, without marks; and folded, line by line."""

    __tablename__ = "wiki_words"

    page_id: Mapped[int] = mapped_column(ForeignKey("wiki_page.id"), primary_key=True, autoincrement=False)
    plain: Mapped[str] = mapped_column(Text)
    folded: Mapped[str] = mapped_column(Text)
