"""Anonymous reads of app builds, by raw queries (:mod:`modhub.db.raw_queries`)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from modhub.blobs.models import StoredBlob
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.web.downloads import IMMUTABLE, REVALIDATE, StoredFile
from modhub_builds.models import Build, ChangelogSection
from modhub_builds.schemas import (
    BuildsDocument,
    PlatformDocument,
    VersionDocument,
    build_url,
    is_platform,
    label,
    newest_url,
    rank,
)
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
        """The permanent address of this build."""
        return build_url(self.os, self.id)

    @property
    def label(self) -> str:
        """The display name of its operating system."""
        return label(self.os)

    def file(self, *, moving: bool) -> StoredFile:
        """The file, always sent as an attachment (C-APP-7). ``moving``: requested at the newest build's address."""
        return StoredFile(
            key=self.key,
            size=self.size,
            sha256=self.sha256,
            name=self.name,
            content_type=self.content_type,
            modified=self.uploaded_at,
            inline=False,
            cache_control=REVALIDATE if moving else IMMUTABLE,
            moving=moving,
        )


_RELEASES: Final = (
    select(Build.id, Build.os, Build.version, Build.name, Build.content_type, Build.uploaded_at)
    .add_columns(StoredBlob.key, StoredBlob.size, StoredBlob.sha256)
    .join(StoredBlob, StoredBlob.id == Build.blob_id)
    .order_by(Build.id.desc())
)
_OF_OS: Final = _RELEASES.where(Build.os == bindparam("os"))
_ALL: Final = PreparedQuery(_RELEASES)
_NEWEST: Final = PreparedQuery(_OF_OS.limit(1))
_BY_ID: Final = PreparedQuery(_OF_OS.where(Build.id == bindparam("id")))
_SECTIONS: Final = PreparedQuery(
    select(ChangelogSection.text).where(ChangelogSection.hidden_at.is_(None)).order_by(ChangelogSection.id.desc())
)


class BuildReader:
    """The read service of app builds; made where it is used."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader

    def newest(self, os: str) -> Release | None:
        """The newest build of this operating system."""
        return self._first(self.reader.rows(_NEWEST, os=os)) if is_platform(os) else None

    def build(self, os: str, build_id: int | None) -> Release | None:
        """The build with this id, if it is of this operating system."""
        if build_id is None or not is_platform(os):
            return None
        return self._first(self.reader.rows(_BY_ID, os=os, id=build_id))

    def releases(self) -> dict[str, list[Release]]:
        """The builds of each operating system, newest first; the systems in the order of C-APP-5."""
        by_os: dict[str, list[Release]] = {}
        for row in self.reader.rows(_ALL):
            release = _release(row)
            by_os.setdefault(release.os, []).append(release)
        return {os: by_os[os] for os in sorted(by_os, key=rank)}

    def sections(self) -> list[str]:
        """The visible sections of the changelog, newest first."""
        return [row[0] for row in self.reader.rows(_SECTIONS)]

    def document(self) -> BuildsDocument:
        """All that readers see; two statements."""
        return BuildsDocument([_platform(of_os) for of_os in self.releases().values()], BREAK.join(self.sections()))

    def _first(self, rows: list[Row]) -> Release | None:
        return _release(rows[0]) if rows else None


def _release(row: Row) -> Release:
    build_id, os, version, name, content_type, uploaded_at, key, size, sha256 = row
    return Release(build_id, os, version, name, content_type, from_micros(uploaded_at), key, size, sha256)


def _platform(releases: list[Release]) -> PlatformDocument:
    newest = releases[0]
    return PlatformDocument(
        os=newest.os,
        version=newest.version,
        name=newest.name,
        bytes=newest.size,
        uploaded_at=iso(newest.uploaded_at),
        url=newest_url(newest.os),
        versions=[_version(release) for release in releases],
    )


def _version(release: Release) -> VersionDocument:
    return VersionDocument(release.version, release.name, release.size, iso(release.uploaded_at), release.url)


def describe_build_files(session: Session, blob_ids: Collection[int]) -> dict[int, str]:
    """``build 3 for linux: modhub.zip``, by the id of the stored file's row; for the operator."""
    builds = select(Build.blob_id, Build.id, Build.os, Build.name).where(Build.blob_id.in_(blob_ids))
    return {blob_id: f"build {build_id} for {os}: {name}" for blob_id, build_id, os, name in session.execute(builds)}
