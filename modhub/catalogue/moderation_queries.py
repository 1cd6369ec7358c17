"""What the operator reads about mods: all of them, whatever their state, and everything about one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import and_, func, not_, or_, select
from sqlalchemy.orm import Session, selectinload

from modhub.blobs.models import StoredBlob
from modhub.bulk import BATCH
from modhub.catalogue.models import Asset, Mod, Note, PublicMod, PublicRequirement, Vote
from modhub.catalogue.moderation import is_named
from modhub.catalogue.public_copies import IS_PUBLIC
from modhub.catalogue.response_schemas import in_order
from modhub.db import iso
from modhub.folding import fold_search, search_words
from modhub.interfaces import IProfiles
from modhub.markup import to_text
from modhub.service_registry import find_optional_service

STATES: Final = {
    "draft": and_(not_(Mod.published), Mod.hidden_at.is_(None)),
    "published": IS_PUBLIC,
    "hidden": Mod.hidden_at.is_not(None),
}
"""The states of a mod, each with its condition. What is ``published`` here, everybody sees."""
DESCRIBED: Final = 500
"""Characters of a description that are shown."""
MAX_NAMED: Final = 20
"""How many of the mods that require a mod are named."""


class Line(NamedTuple):
    """What a list says of a mod."""

    id: int
    guid: str
    owner: int
    title: str
    games: list[str]
    published: bool
    hidden_at: datetime | None
    updated_at: datetime

    @property
    def state(self) -> str:
        """One of :data:`STATES`."""
        return state_of(self)

    def __str__(self) -> str:
        return f"{self.id} {self.title}, {self.state}"


_LINE: Final = (Mod.id, Mod.guid, Mod.owner, Mod.title, Mod.games, Mod.published, Mod.hidden_at, Mod.updated_at)


def state_of(mod: Line | Mod) -> str:
    """One of :data:`STATES`."""
    if mod.hidden_at is not None:
        return "hidden"
    return "published" if mod.published else "draft"


@dataclass(frozen=True, slots=True)
class ModFilter:
    """What a list of mods is narrowed to."""

    owner: int | None = None
    state: str | None = None
    words: tuple[str, ...] = ()
    sha256: str | None = None


def filtered_mods(session: Session, sought: ModFilter, offset: int, most: int) -> list[Line]:
    """At most ``most`` mods behind ``offset``, last changed first."""
    return list(islice(_matching(session, sought), offset, offset + most))


def _matching(session: Session, sought: ModFilter) -> Iterator[Line]:
    """Words are looked for here, not by the database: only what readers see has its folded text there."""
    statement = select(*_LINE).order_by(Mod.updated_at.desc(), Mod.id.desc()).limit(BATCH)
    if sought.owner is not None:
        statement = statement.where(Mod.owner == sought.owner)
    if sought.state is not None:
        statement = statement.where(STATES[sought.state])
    if sought.sha256 is not None:
        files = select(Asset.mod_id).join(StoredBlob, StoredBlob.id == Asset.blob_id)
        statement = statement.where(Mod.id.in_(files.where(StoredBlob.sha256 == sought.sha256)))
    words = [word for typed in sought.words for word in search_words(typed)]
    batch = session.execute(statement).all()
    while batch:
        for row in batch:
            one = Line(*row)
            if all(word in _folded(one) for word in words):
                yield one
        last = Line(*batch[-1])
        # The first condition finds the place in the index; the second alone would read all that lies before it.
        older = or_(Mod.updated_at < last.updated_at, Mod.id < last.id)
        batch = session.execute(statement.where(Mod.updated_at <= last.updated_at, older)).all()


def _folded(one: Line) -> str:
    return fold_search("\n".join((one.title, *one.games)))


def describe_mod(session: Session, registry: Any, name: str) -> Iterator[str]:
    """Lines about the mod that a number or a GUID names; none where there is no such mod."""
    wanted = is_named(name)
    load = selectinload(Mod.assets).joinedload(Asset.blob)
    mod = None if wanted is None else session.scalars(select(Mod).where(wanted).options(load)).one_or_none()
    if mod is None:
        return
    yield f"{mod.id} {mod.title}"
    for label, value in _facts(registry, mod):
        if value:
            yield f"  {label}: {value}"
    yield from _files(mod)
    for label, guids in (("requires", mod.requires), ("conflicts with", mod.conflicts)):
        known = _known(session, guids)
        for guid in guids:
            yield f"  {label}: {guid} ({known.get(guid.lower(), 'not on this site')})"
    total, users = _users(session, mod.guid)
    for user in users:
        yield f"  required by: {user}"
    if total > len(users):
        yield f"  required by: {total - len(users)} more"
    versions = session.scalars(select(Note.version).where(Note.mod_id == mod.id).order_by(Note.id.desc())).all()
    yield f"  changelog: {', '.join(versions) or 'empty'}"


def _facts(registry: Any, mod: Mod) -> Iterator[tuple[str, str | None]]:
    profiles = find_optional_service(registry, IProfiles)
    person = profiles.get_profiles({mod.owner}).get(mod.owner) if profiles is not None else None
    yield "GUID", mod.guid
    yield "owner", f"account {mod.owner}" + (f" ({person.name})" if person is not None else "")
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
    yield "description", to_text(mod.description, DESCRIBED)


def _files(mod: Mod) -> Iterator[str]:
    for asset in in_order(mod.assets):
        assert isinstance(asset, Asset)
        yield f"  {asset.kind}: {asset.name}, {asset.size} bytes, {asset.content_type}, {iso(asset.stored_at)}"
        yield f"    SHA-256 {asset.blob.sha256}"
        yield f"    in the store {asset.blob.key}, address /Modhub/file/{asset.id}"


def _known(session: Session, guids: Iterable[str]) -> dict[str, Line]:
    """Which of these mods are here, whatever their state."""
    rows = session.execute(select(*_LINE).where(Mod.guid.in_([guid.lower() for guid in guids])))
    return {line.guid: line for line in (Line(*row) for row in rows)}


def _users(session: Session, guid: str) -> tuple[int, list[Line]]:
    """(how many mods that everybody sees require it, some of them)"""
    users = select(PublicRequirement.mod_id).where(func.lower(PublicRequirement.guid) == guid)
    total = session.scalar(select(func.count()).select_from(PublicMod).where(PublicMod.id.in_(users))) or 0
    some = session.execute(select(*_LINE).where(Mod.id.in_(users)).order_by(Mod.id).limit(MAX_NAMED))
    return total, [Line(*row) for row in some]


def deletion_summary(session: Session, mod: Mod) -> str:
    """What goes with the mod when it is deleted, as a part of a sentence."""
    stored = select(func.count(), func.coalesce(func.sum(StoredBlob.size), 0)).select_from(Asset)
    stored = stored.join(StoredBlob, StoredBlob.id == Asset.blob_id).where(Asset.mod_id == mod.id)
    files, size = session.execute(stored).one()
    notes, votes = (
        session.scalar(select(func.count()).select_from(model).where(model.mod_id == mod.id)) or 0
        for model in (Note, Vote)
    )
    return (
        f"{_many(files, 'file')} of {size} bytes in all, {_many(notes, 'changelog entry', 'changelog entries')} "
        f"and {_many(votes, 'vote')}"
    )


def users_of(session: Session, mod: Mod) -> str:
    """Who requires the mod, as a sentence; empty when nobody does."""
    total, users = _users(session, mod.guid)
    if not users:
        return ""
    more = f" and {total - len(users)} more" if total > len(users) else ""
    verb = "requires" if total == 1 else "require"
    return f"{_many(total, 'published mod')} {verb} it: {'; '.join(map(str, users))}{more}."


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or one + 's'}"
