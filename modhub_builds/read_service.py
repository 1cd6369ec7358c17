"""What anonymous readers ask of app builds, by the short way of :mod:`modhub.responses`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, bindparam, func, select

from modhub.blobs.models import StoredBlob
from modhub.db import from_micros, iso
from modhub.downloads import FOR_EVER, REVALIDATE, StoredFile
from modhub.payload import encode
from modhub.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub_builds.models import Build, ChangelogSection
from modhub_builds.platforms import is_platform, label, rank
from modhub_builds.response_schemas import ListDocument, PlatformDocument, VersionDocument, build_url, newest_url
from modhub_builds.services import BREAK


@dataclass(frozen=True, slots=True)
class Release:
    """A stored build as readers see it."""

    id: int
    os: str
    version: str
    name: str
    content_type: str
    uploaded_at: datetime
    key: str
    size: int
    sha256: str

    @property
    def url(self) -> str:
        """The address of this one build."""
        return build_url(self.os, self.id)

    @property
    def label(self) -> str:
        """Its operating system for people."""
        return label(self.os)

    def file(self, *, moving: bool) -> StoredFile:
        """The file, always to be saved and never shown (C-APP-7). ``moving``: by the address of the newest."""
        return StoredFile(
            key=self.key,
            size=self.size,
            sha256=self.sha256,
            name=self.name,
            content_type=self.content_type,
            modified=self.uploaded_at,
            inline=False,
            cache_control=REVALIDATE if moving else FOR_EVER,
            moving=moving,
        )


def _releases() -> Select[*tuple[Any, ...]]:
    columns = (Build.id, Build.os, Build.version, Build.name, Build.content_type, Build.uploaded_at)
    return (
        select(*columns, StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
        .join(StoredBlob, StoredBlob.id == Build.blob_id)
        .order_by(Build.id.desc())
    )


def _stamp() -> Select[*tuple[Any, ...]]:
    """What changes whenever the list does: builds and sections are only added at the end, or go."""
    shown = select(func.count()).select_from(ChangelogSection).where(ChangelogSection.hidden_at.is_(None))
    return select(
        select(func.max(Build.id)).scalar_subquery(),
        select(func.count()).select_from(Build).scalar_subquery(),
        select(func.max(ChangelogSection.id)).scalar_subquery(),
        shown.scalar_subquery(),
    )


@dataclass(frozen=True, slots=True)
class AppListing:
    """All that readers see of the app, as one reading found it; the next finds what came in between.

    ``releases``: the builds of each operating system, newest first; the systems in the order of C-APP-6.
    ``sections``: the changelog that is shown, newest first. ``body``: the answer of ``GET /api/modhub/app``.
    """

    stamp: Row
    releases: dict[str, tuple[Release, ...]]
    sections: tuple[str, ...]
    body: bytes


class BuildReader:
    """The reading side of app builds; one for an application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader
        of_os = _releases().where(Build.os == bindparam("os"))
        self._all: PreparedQuery = reader.prepare(_releases())
        self._newest: PreparedQuery = reader.prepare(of_os.limit(1))
        self._one: PreparedQuery = reader.prepare(of_os.where(Build.id == bindparam("id")))
        shown = (
            select(ChangelogSection.text)
            .where(ChangelogSection.hidden_at.is_(None))
            .order_by(ChangelogSection.id.desc())
        )
        self._sections: PreparedQuery = reader.prepare(shown)
        self._stamp: PreparedQuery = reader.prepare(_stamp())
        self._known = AppListing((), {}, (), b"")

    def newest(self, os: str) -> Release | None:
        """The newest build of this operating system."""
        return self._first(self.reader.rows(self._newest, os=os)) if is_platform(os) else None

    def one(self, os: str, build_id: int | None) -> Release | None:
        """The build with this id, if it is of this operating system."""
        if build_id is None or not is_platform(os):
            return None
        return self._first(self.reader.rows(self._one, os=os, id=build_id))

    def shown(self) -> AppListing:
        """What readers see; one object, not to be changed, for as long as nothing has changed."""
        stamp = tuple(self.reader.rows(self._stamp)[0])
        known = self._known
        if known.stamp != stamp:
            # The stamp was read before the rows: what is newer than its stamp is made once more, never kept too long.
            known = self._known = self._read(stamp)
        return known

    def _read(self, stamp: Row) -> AppListing:
        found: dict[str, list[Release]] = {}
        for row in self.reader.rows(self._all):
            release = _release(row)
            found.setdefault(release.os, []).append(release)
        releases = {os: tuple(found[os]) for os in sorted(found, key=rank)}
        sections = tuple(row[0] for row in self.reader.rows(self._sections))
        builds = [_platform(of_os) for of_os in releases.values()]
        return AppListing(stamp, releases, sections, encode(ListDocument(builds, BREAK.join(sections))))

    def _first(self, rows: list[Row]) -> Release | None:
        return _release(rows[0]) if rows else None


def _release(row: Row) -> Release:
    build_id, os, version, name, content_type, uploaded_at, key, size, sha256 = row
    return Release(build_id, os, version, name, content_type, from_micros(uploaded_at), key, size, sha256)


def _platform(releases: tuple[Release, ...]) -> PlatformDocument:
    newest = releases[0]
    return PlatformDocument(
        os=newest.os,
        version=newest.version,
        name=newest.name,
        bytes=newest.size,
        uploaded_at=iso(newest.uploaded_at),
        url=newest_url(newest.os),
        versions=[VersionDocument(one.version, one.name, one.size, iso(one.uploaded_at), one.url) for one in releases],
    )
