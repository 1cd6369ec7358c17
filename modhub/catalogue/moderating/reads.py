"""Queries for the operator: lists of all mods in any state, and everything about one mod."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, exists, func, not_, null, or_, select
from sqlalchemy.orm import Session, load_only

from modhub.base.service_registry import find_optional_service
from modhub.blobs.models import StoredBlob
from modhub.blobs.naming import BlobNames
from modhub.catalogue.copies import IS_PUBLIC
from modhub.catalogue.documents import in_order
from modhub.catalogue.models import (
    IS_THERE,
    WITH_FILES,
    Asset,
    AssetKind,
    KeptFile,
    Mod,
    Note,
    PublicMod,
    PublicRequirement,
    ReservedVersion,
    Vote,
)
from modhub.catalogue.moderating.hiding import find_mod_ids
from modhub.content.folding import fold_search, search_words
from modhub.content.markup import to_text
from modhub.db import bulk, iso
from modhub.db.bulk import BATCH
from modhub.plugins.moderation import FileRecord
from modhub.plugins.services import IProfiles

FORMER = "former"


class FileDigests:
    """See :class:`modhub.plugins.moderation.IFileDigests`. ``sources`` say what the files of other features are."""

    def __init__(self, sources: Mapping[str, BlobNames]) -> None:
        self._sources = sources

    def of_mods(self, session: Session, mod_ids: Collection[int]) -> list[FileRecord]:
        """Four statements for five hundred mods."""
        return [file for batch in bulk.batches(mod_ids) for file in _once(read_files(session, batch))]

    def find(self, session: Session, digests: Collection[str]) -> list[FileRecord]:
        """Four statements for five hundred digests."""
        files = (_once(read_files(session, digests=batch)) for batch in bulk.batches(digests))
        return sorted(chain.from_iterable(files), key=lambda file: file.mod_id)

    def find_others(self, session: Session, digests: Collection[str]) -> dict[str, list[str]]:
        """Ask each feature what its files are."""
        used = or_(*(exists().where(holder.blob_id == StoredBlob.id) for holder in (Asset, KeptFile)))
        stored = select(StoredBlob.id, StoredBlob.sha256).where(StoredBlob.trashed_at.is_(None), ~used)
        names_by_digest: dict[str, list[str]] = {}
        for batch in bulk.batches(digests):
            rows = session.execute(stored.where(StoredBlob.sha256.in_(batch)).order_by(StoredBlob.id))
            by_id: dict[int, str] = {row[0]: row[1] for row in rows}
            for describe in self._sources.values():
                for blob_id, name in describe(session, list(by_id)).items():
                    names_by_digest.setdefault(by_id[blob_id], []).append(name)
        return names_by_digest


def read_files(
    session: Session, mod_ids: Collection[int] | None = None, digests: Collection[str] | None = None
) -> list[FileRecord]:
    """The files of these mods, or with these digests: those that mods have, those kept aside, those of changelogs."""

    def is_asked_for(holder: Any, digest: Any) -> ColumnElement[bool]:
        condition: ColumnElement[bool] = digest.in_(digests) if mod_ids is None else holder.mod_id.in_(mod_ids)
        return condition

    files: list[FileRecord] = []
    stored: tuple[tuple[Any, Any, Any], ...] = ((Asset, Asset.id, Asset.id), (KeptFile, null(), KeptFile.blob_id))
    for holder, asset_id, order in stored:
        columns = (holder.mod_id, holder.kind, holder.name, StoredBlob.size, StoredBlob.sha256, asset_id)
        rows = select(*columns).join(holder.blob).where(is_asked_for(holder, StoredBlob.sha256)).order_by(order)
        for mod_id, kind, name, size, sha256, number in session.execute(rows):
            files.append(FileRecord(mod_id, kind, name, "", size, sha256, number))
    named: tuple[tuple[Any, Any], ...] = ((Note, Note.id.desc()), (ReservedVersion, ReservedVersion.version))
    for holder, order in named:
        versions = select(holder.mod_id, holder.version, holder.size, holder.sha256)
        rows = versions.where(is_asked_for(holder, holder.sha256)).order_by(order)
        for mod_id, version, size, sha256 in session.execute(rows):
            files.append(FileRecord(mod_id, AssetKind.CODE.value, "", version, size, sha256, None))
    return files


def _once(files: list[FileRecord]) -> Iterator[FileRecord]:
    """These, but of what changelogs name only former files: those that are not stored under the same digest."""
    code = {(file.mod_id, file.sha256) for file in files if file.kind == AssetKind.CODE and not file.version}
    for file in files:
        if not file.version:
            yield file
        elif (file.mod_id, file.sha256) not in code:
            yield file._replace(kind=FORMER, name=file.version)


STATES: Final = {
    "draft": and_(not_(Mod.published), Mod.hidden_at.is_(None)),
    "published": IS_PUBLIC,
    "hidden": Mod.hidden_at.is_not(None),
}
"""The states of a mod with their conditions; ``published`` means visible to everybody."""
DESCRIPTION_LENGTH: Final = 500
"""Characters of a description that are shown."""
MAX_USERS_LISTED: Final = 20
"""Dependent mods that are listed for a mod."""


# Without the texts: a list may go through all mods.
_LINES: Final = (
    select(Mod)
    .where(IS_THERE)
    .options(load_only(Mod.guid, Mod.owner, Mod.title, Mod.games, Mod.published, Mod.hidden_at, Mod.updated_at))
)


def _line_of(mod: Mod) -> str:
    return f"{mod.id} {mod.title}, {state_of(mod)}"


def state_of(mod: Mod) -> str:
    """One of :data:`STATES`."""
    if mod.hidden_at is not None:
        return "hidden"
    return "published" if mod.published else "draft"


def filtered_mods(
    session: Session, owner: int | None, state: str | None, sha256: str | None, queries: Iterable[str]
) -> Iterator[Mod]:
    """The mods of an owner, in a state, with a file, with all words of the queries, last changed first.

    Words are matched in Python: only public mods have folded text in the database.
    """
    statement = _LINES.order_by(Mod.updated_at.desc(), Mod.id.desc()).limit(BATCH)
    if owner is not None:
        statement = statement.where(Mod.owner == owner)
    if state is not None:
        statement = statement.where(STATES[state])
    if sha256 is not None:
        files = select(Asset.mod_id).join(StoredBlob, StoredBlob.id == Asset.blob_id)
        statement = statement.where(Mod.id.in_(files.where(StoredBlob.sha256 == sha256)))
    words = [word for query in queries for word in search_words(query)]
    batch = session.scalars(statement).all()
    while batch:
        yield from (mod for mod in batch if all(word in _search_text(mod) for word in words))
        last = batch[-1]
        # The first condition lets the index seek; with the second alone, all earlier rows would be read.
        older = or_(Mod.updated_at < last.updated_at, Mod.id < last.id)
        batch = session.scalars(statement.where(Mod.updated_at <= last.updated_at, older)).all()


def _search_text(mod: Mod) -> str:
    return fold_search("\n".join((mod.title, *mod.games)))


def find_whole_mod(session: Session, name: str) -> Mod | None:
    """The mod with this id or GUID and its files, not locked."""
    mod_id = find_mod_ids(session, [name]).get(name)
    return None if mod_id is None else session.get(Mod, mod_id, options=[WITH_FILES])


def versions_of(session: Session, mod: Mod) -> list[str]:
    """The versions of its changelog, newest first."""
    return list(session.scalars(select(Note.version).where(Note.mod_id == mod.id).order_by(Note.id.desc())))


def describe_mod(session: Session, registry: Any, mod: Mod) -> Iterator[str]:
    """Yield lines about the mod."""
    yield f"{mod.id} {mod.title}"
    for label, value in _facts(registry, mod):
        if value:
            yield f"  {label}: {value}"
    yield from _files(mod)
    for label, guids in (("requires", mod.requires), ("conflicts with", mod.conflicts)):
        lines = _lines_by_guid(session, guids)
        for guid in guids:
            yield f"  {label}: {guid} ({lines.get(guid.lower(), 'not on this site')})"
    total, users = _users(session, mod.guid)
    for user in users:
        yield f"  required by: {_line_of(user)}"
    if total > len(users):
        yield f"  required by: {total - len(users)} more"
    yield f"  changelog: {', '.join(versions_of(session, mod)) or 'empty'}"


def _facts(registry: Any, mod: Mod) -> Iterator[tuple[str, str | None]]:
    profiles = find_optional_service(registry, IProfiles)
    profile = profiles.get_profiles({mod.owner}).get(mod.owner) if profiles is not None else None
    yield "GUID", mod.guid
    yield "owner", f"account {mod.owner}" + (f" ({profile.name})" if profile is not None else "")
    published = "published by its owner" if mod.published else "a draft"
    yield "state", state_of(mod) + (f", {published}" if mod.hidden_at is not None else "")
    if mod.hidden_at is not None:
        yield "hidden since", iso(mod.hidden_at)
        yield "reason", mod.hidden_reason or "none given"
    yield "created", iso(mod.created_at)
    yield "changed", iso(mod.updated_at)
    yield "version", mod.version
    yield "games", ", ".join(mod.games)
    yield "votes", f"{mod.ups} for, {mod.downs} against"
    yield "description", to_text(mod.description, DESCRIPTION_LENGTH)


def _files(mod: Mod) -> Iterator[str]:
    for asset in in_order(mod.assets):
        yield f"  {asset.kind}: {asset.name}, {asset.size} bytes, {asset.content_type}, {iso(asset.stored_at)}"
        yield f"    SHA-256 {asset.blob.sha256}"
        yield f"    in the store {asset.blob.key}, address /Modhub/file/{asset.id}"


def _lines_by_guid(session: Session, guids: Iterable[str]) -> dict[str, str]:
    """Return a line about each of these mods that exists, in any state, by folded GUID."""
    mods = session.scalars(_LINES.where(Mod.guid.in_([guid.lower() for guid in guids])))
    return {mod.guid: _line_of(mod) for mod in mods}


def _users(session: Session, guid: str) -> tuple[int, Sequence[Mod]]:
    """(number of public mods that require it, the first of them)"""
    users = select(PublicRequirement.mod_id).where(func.lower(PublicRequirement.guid) == guid)
    total = session.scalar(select(func.count()).select_from(PublicMod).where(PublicMod.id.in_(users))) or 0
    return total, session.scalars(_LINES.where(Mod.id.in_(users)).order_by(Mod.id).limit(MAX_USERS_LISTED)).all()


def deletion_summary(session: Session, mod: Mod) -> str:
    """What is deleted with the mod, as a part of a sentence."""
    totals = select(func.count(), func.coalesce(func.sum(StoredBlob.size), 0)).select_from(Asset)
    totals = totals.join(StoredBlob, StoredBlob.id == Asset.blob_id).where(Asset.mod_id == mod.id)
    files, size = session.execute(totals).one()
    notes, votes = (
        session.scalar(select(func.count()).select_from(model).where(model.mod_id == mod.id)) or 0
        for model in (Note, Vote)
    )
    return (
        f"{_plural(files, 'file')} ({size} bytes in total), {_plural(notes, 'changelog entry', 'changelog entries')} "
        f"and {_plural(votes, 'vote')}"
    )


def users_of(session: Session, mod: Mod) -> str:
    """The public mods that require this one, as a sentence; empty if there are none."""
    total, users = _users(session, mod.guid)
    if not users:
        return ""
    others = f" and {total - len(users)} more" if total > len(users) else ""
    verb = "requires" if total == 1 else "require"
    return f"{_plural(total, 'published mod')} {verb} it: {'; '.join(map(_line_of, users))}{others}."


def _plural(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
