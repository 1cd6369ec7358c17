"""What build agents and the operator do with app builds. Functions over a session; nothing here knows a request.

Writers take turns, so that the order of ids is the order of commits: the newest build is the one that came last, and of
two calls that take a section back each one finds another.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session, joinedload

from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.db import now
from modhub.errors import ApiError, invalid
from modhub.text import normal, scrub
from modhub_builds.models import Build, ChangelogSection

BREAK = "\n\n"
"""Between two sections: one blank line (C-APP-8)."""


@dataclass(frozen=True, slots=True)
class BuildUpload:
    """A staged file and what was said about it."""

    os: str
    version: str
    name: str
    content_type: str
    blob: Blob


def _take_turn(session: Session, table: str) -> None:
    """Wait for whoever is writing to ``table``: on SQLite for the write lock, with which every transaction begins."""
    if session.connection().dialect.name == "postgresql":
        session.execute(text(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE"))


def add_build(session: Session, given: BuildUpload) -> Build:
    """Keep a build; it is the newest of its operating system from now on."""
    _take_turn(session, Build.__tablename__)
    newest = session.scalar(select(func.max(Build.uploaded_at)).where(Build.os == given.os))
    # A date of HTTP is a whole second: each build of a system has another one, else who asks by date at the address
    # of the newest keeps the one before.
    time = now() if newest is None else max(now(), newest.replace(microsecond=0) + timedelta(seconds=1))
    build = Build(
        os=given.os,
        version=given.version,
        name=given.name,
        content_type=given.content_type,
        blob=create_blob_row(session, given.blob),
        uploaded_at=time,
    )
    session.add(build)
    session.flush()
    return build


def remove_build(session: Session, os: str, build_id: int) -> Build | None:
    """Remove a build by hand (no API does): its id is never given out again, its file goes with the next sweep."""
    wanted = select(Build).where(Build.os == os, Build.id == build_id).options(joinedload(Build.blob))
    build = session.scalars(wanted).one_or_none()
    if build is not None:
        trash_blob(session, [build.blob_id])
        session.delete(build)
        session.flush()
    return build


def clean_section(value: str) -> str:
    """A section as it is stored: plain text without outer blank lines (C-APP-9, C-APP-8); 400 for nothing.

    Every kind of line end becomes a newline: scrubbing would glue lines that end with a carriage return alone.
    """
    lines = normal("NFC", scrub(value.replace("\r\n", "\n").replace("\r", "\n"))).split("\n")
    written = [number for number, line in enumerate(lines) if line.strip()]
    if not written:
        raise invalid("The body is empty; it is the changelog section of this release, as plain text.")
    return "\n".join(lines[written[0] : written[-1] + 1])


def _shown(session: Session) -> Any:
    return session.scalars(
        select(ChangelogSection).where(ChangelogSection.hidden_at.is_(None)).order_by(ChangelogSection.id.desc())
    )


def push_section(session: Session, section: str) -> str:
    """Add a cleaned section on top; answers the whole changelog."""
    _take_turn(session, ChangelogSection.__tablename__)
    session.add(ChangelogSection(text=section, added_at=now()))
    session.flush()
    return BREAK.join(one.text for one in _shown(session))


def pop_section(session: Session) -> str:
    """Hide the newest section; answers what is left of the changelog. 404 when nothing is shown."""
    _take_turn(session, ChangelogSection.__tablename__)
    newest, *others = [*_shown(session)] or [None]
    if newest is None:
        raise ApiError(404, "not_found", "The app changelog has no section to take back.")
    newest.hidden_at = now()
    session.flush()
    return BREAK.join(one.text for one in others)
