"""Writes to wiki pages. Functions over a session, without a request.

A page's row is locked first, so writes to one page are serialised: two concurrent publications become two revisions,
and of two concurrent creations one creates the page and the other changes it.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any, Final

from msgspec.json import encode
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import not_found
from modhub.content.folding import fold_search
from modhub.db import now
from modhub_wiki.models import Page, PageSearchText, Revision
from modhub_wiki.rendering import Rendered, render

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PageDraft:
    """A page ready to be stored. Built before the transaction, because rendering is slow."""

    path: str
    text: str
    rendered: Rendered
    folded: str


def draft_page(path: str, text: str, title: str | None = None) -> PageDraft:
    """Render the Markdown ``text`` of the page ``path`` and fold it for search."""
    rendered = render(text, path, title)
    lines = f"{rendered.title}\n{path}\n{rendered.plain}"
    return PageDraft(path, text, rendered, fold_search(lines))


def _lock_page(session: Session, path: str) -> Page | None:
    return session.scalars(select(Page).where(Page.path == path).with_for_update()).one_or_none()


def publish_page(session: Session, draft: PageDraft, author: str) -> tuple[Page, bool]:
    """Store a revision of the page. Returns the page and whether it is new."""
    page = _lock_page(session, draft.path) or _create_page(session, draft)
    created = page.deleted_at is not None
    page.title = draft.rendered.title
    page.revision += 1
    page.updated_at = _next_time(page.updated_at)
    page.deleted_at = None
    session.add(
        Revision(
            page_id=page.id,
            number=page.revision,
            title=page.title,
            text=draft.text,
            html=draft.rendered.html,
            contents=encode(draft.rendered.contents).decode(),
            author=author,
            created_at=page.updated_at,
        )
    )
    session.merge(
        PageSearchText(page_id=page.id, plain=f"{page.title}\n{page.path}\n{draft.rendered.plain}", folded=draft.folded)
    )
    record(session, "page published", "page", page.path, revision=page.revision)
    session.flush()
    return page, created


def _create_page(session: Session, draft: PageDraft) -> Page:
    """The row of a new page, marked as deleted until its first revision."""
    time = now()
    page = Page(path=draft.path, title=draft.rendered.title, revision=0, updated_at=time, deleted_at=time)
    try:
        with session.begin_nested():
            session.add(page)
    except IntegrityError:
        # Created concurrently; rows are never removed, so it exists now.
        existing = _lock_page(session, draft.path)
        assert existing is not None
        return existing
    return page


def _next_time(previous: datetime) -> datetime:
    """The time of a change: later than the previous one, even if the clock was set back."""
    return max(now(), previous + _TICK)


def remove_page(session: Session, path: str) -> None:
    """Delete a page; its history stays stored (C-WIKI-2). 404 if there is no such page."""
    page = _lock_page(session, path)
    if page is None or page.deleted_at is not None:
        raise not_found()
    page.deleted_at = now()
    record(session, "page deleted", "page", page.path)
    session.execute(delete(PageSearchText).where(PageSearchText.page_id == page.id))
    session.flush()


DEMO_PAGES: Final = ("index", "getting-started", "mods/manifest", "mods/overlay-api", "publishing")
DEMO_AUTHOR: Final = "demo"


def fill_demo_wiki(admin: Any) -> None:
    """Add five pages with tables, code and links, unless there are pages already."""
    folder = files("modhub_wiki") / "demo"
    drafts = [draft_page(path, (folder / f"{path}.md").read_text("utf-8")) for path in DEMO_PAGES]
    with admin.writing() as (session, _):
        if session.scalar(select(Page.id).limit(1)) is not None:
            return
        for draft in drafts:
            publish_page(session, draft, DEMO_AUTHOR)
