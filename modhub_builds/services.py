"""Writes to app builds and the changelog. Functions over a session, without a request.

Writers lock the table, so the order of ids is the order of commits: the newest build is the last one committed, and
two concurrent calls that withdraw a section withdraw two different ones.
"""

from datetime import timedelta
from typing import Any, Final

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session, joinedload

from modhub.audit import record
from modhub.base.errors import ApiError, invalid
from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.content.text import normal, scrub
from modhub.db import now
from modhub.db.changes import What, mark_changed
from modhub_builds.models import Build, ChangelogSection

BUILDS_CHANGED: Final = "build"
"""The kind of the changes of builds."""
CHANGELOG_CHANGED: Final = "app_changelog"
"""The kind of the changes of the app changelog."""
BREAK = "\n\n"
"""Between two sections: one blank line (C-APP-8)."""


def _lock_table(session: Session, table: str) -> None:
    """Serialise writers of ``table``. On SQLite every transaction already begins with the write lock."""
    if session.connection().dialect.name == "postgresql":
        session.execute(text(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))


def add_build(session: Session, build: Build, blob: Blob) -> None:
    """Store a build with this staged file as the newest of its operating system."""
    _lock_table(session, Build.__tablename__)
    newest = session.scalar(select(func.max(Build.uploaded_at)).where(Build.os == build.os))
    # HTTP dates have whole seconds. Two builds of a system must not share one, or a client that revalidates the newest
    # build by date would keep the previous one.
    time = now() if newest is None else max(now(), newest.replace(microsecond=0) + timedelta(seconds=1))
    build.blob, build.uploaded_at = create_blob_row(session, blob), time
    session.add(build)
    session.flush()
    mark_changed(session, BUILDS_CHANGED, What.PUBLISHED)
    target = f"{build.os}/{build.id}"
    record(session, "build uploaded", "build", target, version=build.version, sha256=blob.sha256)


def remove_build(session: Session, os: str, build_id: int) -> Build | None:
    """Remove a build for the operator (no API call does). Its id is not reused; the next sweep deletes its file."""
    query = select(Build).where(Build.os == os, Build.id == build_id).options(joinedload(Build.blob))
    build = session.scalars(query).one_or_none()
    if build is not None:
        trash_blob(session, [build.blob_id])
        session.delete(build)
        record(session, "build removed", "build", f"{os}/{build_id}", version=build.version)
        session.flush()
        mark_changed(session, BUILDS_CHANGED, What.DELETED)
    return build


def clean_section(value: str) -> str:
    """A section as stored: plain text without outer blank lines (C-APP-8); 400 if nothing is left.

    Line ends become newlines first: scrubbing would join lines that end in a carriage return alone.
    """
    lines = normal("NFC", scrub(value.replace("\r\n", "\n").replace("\r", "\n"))).split("\n")
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if not filled:
        raise invalid("The body is empty. Send the changelog section of this release as plain text.")
    return "\n".join(lines[filled[0] : filled[-1] + 1])


def _visible_sections(session: Session) -> Any:
    return session.scalars(
        select(ChangelogSection).where(ChangelogSection.hidden_at.is_(None)).order_by(ChangelogSection.id.desc())
    )


def push_section(session: Session, section: str) -> str:
    """Add a cleaned section on top. Returns the whole changelog."""
    _lock_table(session, ChangelogSection.__tablename__)
    row = ChangelogSection(text=section, added_at=now())
    session.add(row)
    session.flush()
    mark_changed(session, CHANGELOG_CHANGED, What.PUBLISHED)
    record(session, "changelog section added", "section", row.id)
    return BREAK.join(row.text for row in _visible_sections(session))


def pop_section(session: Session) -> str:
    """Hide the newest section. Returns the remaining changelog; 404 if there is no visible section."""
    _lock_table(session, ChangelogSection.__tablename__)
    newest, *older = [*_visible_sections(session)] or [None]
    if newest is None:
        raise ApiError(404, "not_found", "The app changelog has no section to remove.")
    newest.hidden_at = now()
    record(session, "changelog section withdrawn", "section", newest.id)
    session.flush()
    mark_changed(session, CHANGELOG_CHANGED, What.DELETED)
    return BREAK.join(row.text for row in older)
