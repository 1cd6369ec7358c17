"""What publishing does with the rows. Functions over a session; nothing here knows a request.

A page's row is locked first, so that all that happens to one page happens in some order: two that publish it at once
get two revisions, and of two that create it one creates and the other changes.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec.json import encode
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.db import now
from modhub.errors import not_found
from modhub.folding import fold_search
from modhub_wiki.models import Page, PageSearchText, Revision
from modhub_wiki.rendering import Rendered, render

_UNIT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page ready to be stored; made before the transaction, because rendering takes its time."""

    path: str
    text: str
    shown: Rendered
    folded: str


def draft_page(path: str, text: str, title: str | None = None) -> PageDraft:
    """Render the Markdown ``text`` of the page ``path`` and fold its words."""
    shown = render(text, path, title)
    lines = f"{shown.title}\n{path}\n{shown.plain}"
    return PageDraft(path, text, shown, fold_search(lines))


def _locked(session: Session, path: str) -> Page | None:
    return session.scalars(select(Page).where(Page.path == path).with_for_update()).one_or_none()


def publish_page(session: Session, given: PageDraft, author: str) -> tuple[Page, bool]:
    """Store a revision of the page; (page, whether it was not there before)."""
    page = _locked(session, given.path) or _new(session, given)
    created = page.deleted_at is not None
    page.title = given.shown.title
    page.revision += 1
    page.updated_at = _later(page.updated_at)
    page.deleted_at = None
    session.add(
        Revision(
            page_id=page.id,
            number=page.revision,
            title=page.title,
            text=given.text,
            html=given.shown.html,
            contents=encode(given.shown.contents).decode(),
            author=author,
            created_at=page.updated_at,
        )
    )
    session.merge(
        PageSearchText(page_id=page.id, plain=f"{page.title}\n{page.path}\n{given.shown.plain}", folded=given.folded)
    )
    session.flush()
    return page, created


def _new(session: Session, given: PageDraft) -> Page:
    """The row of a page that never was: as one that is deleted, before its first revision."""
    time = now()
    page = Page(path=given.path, title=given.shown.title, revision=0, updated_at=time, deleted_at=time)
    try:
        with session.begin_nested():
            session.add(page)
    except IntegrityError:
        # Somebody created it meanwhile; rows are never removed, so it is there now.
        found = _locked(session, given.path)
        assert found is not None
        return found
    return page


def _later(before: datetime) -> datetime:
    """The time of a change: after the one before, even when the clock has been set back."""
    return max(now(), before + _UNIT)


def remove_page(session: Session, path: str) -> None:
    """Take a page away; its history stays stored (C-WIKI-2). 404 when it is not there."""
    page = _locked(session, path)
    if page is None or page.deleted_at is not None:
        raise not_found()
    page.deleted_at = now()
    session.execute(delete(PageSearchText).where(PageSearchText.page_id == page.id))
    session.flush()
