"""The public copies of published mods, and how they are kept up to date.

Anonymous reads use only these tables: unpublished and hidden mods have no rows here. A listener on every session
records which mods a flush touches, and rewrites their copies before the commit. Code that writes without ORM objects
calls :func:`mark_stale` or :func:`mark_score_stale`. ``verify`` compares the copies with the mods, ``rebuild`` rewrites
them all. A copy that differs from the previous one is a change of what everybody sees (:mod:`modhub.db.changes`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from time import sleep
from typing import Any, Final, NamedTuple

from msgspec import DecodeError
from sqlalchemy import Select, and_, bindparam, delete, exists, func, inspect, or_, select, update
from sqlalchemy.orm import Session

from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import AssetDocument, decode_mod, file_links, mod_document
from modhub.catalogue.models import (
    WITH_FILES,
    Asset,
    Mod,
    PublicCounter,
    PublicGame,
    PublicMod,
    PublicRequirement,
    PublicText,
)
from modhub.content.folding import fold_game, fold_search
from modhub.db import bulk, changes
from modhub.db.changes import MOD, PublicChange, What, mark_mod_changed
from modhub.db.unit_of_work import unit_of_work
from modhub.web.payload import encode

PUBLISHED: Final = "published mods"
IS_PUBLIC: Final = and_(Mod.published, Mod.hidden_at.is_(None))
"""The condition under which a mod has public copies."""
MAX_READS: Final = 10
"""How often a mod that seems damaged is read again because it is being changed."""

REBUILD_BATCH: Final = 100
"""Mods per transaction of ``rebuild``: about 0.1 s, during which SQLite blocks other writers."""

_VOTES: Final = {"ups", "downs"}
"""Columns that a vote changes; in the copies only the score depends on them."""
_TABLES: Final[list[Any]] = [copy.__table__ for copy in (PublicText, PublicGame, PublicRequirement, PublicMod)]
"""The first column of each is the mod's id."""
# Built once: building them would take most of the time of rewriting one mod.
_IDS: Final[Any] = bindparam("mod_ids", expanding=True)
_DELETES: Final = [delete(table).where(table.columns[0].in_(_IDS)) for table in _TABLES]
_LOAD: Final = (
    select(Mod).where(Mod.id.in_(_IDS), IS_PUBLIC).options(WITH_FILES).execution_options(populate_existing=True)
)
_STRAY: Final = select(PublicMod.id).where(~exists().where(Mod.id == PublicMod.id, IS_PUBLIC)).order_by(PublicMod.id)
_COUNT: Final = select(func.count()).select_from(Mod).where(IS_PUBLIC).scalar_subquery()


def _score(mod: Any) -> Any:
    """Return the score of a mod, or the SQL expression if called with the class."""
    return mod.ups - mod.downs


def copies_of(mod: Mod) -> list[Any]:
    """Build the rows of a mod in the public tables, its ``PublicMod`` first."""
    folded = dict.fromkeys(fold_game(game) for game in mod.games)
    lines = [fold_search(line) for line in (mod.title, *mod.games)]
    return [
        PublicMod(
            id=mod.id,
            guid=mod.guid,
            owner=mod.owner,
            score=_score(mod),
            updated_at=mod.updated_at,
            requires=" ".join(mod.requires),
            document=encode(mod_document(mod)),
            links=file_links(mod),
        ),
        PublicText(mod_id=mod.id, updated_at=mod.updated_at, text="\n".join(lines)),
        *(PublicGame(mod_id=mod.id, folded=game, updated_at=mod.updated_at) for game in folded),
        *(
            PublicRequirement(mod_id=mod.id, position=position, guid=fold_guid(guid))
            for position, guid in enumerate(mod.requires)
        ),
    ]


def _load_public(session: Session, mod_ids: Sequence[int]) -> Iterable[Mod]:
    return session.scalars(_LOAD, {"mod_ids": mod_ids})


def rewrite_copies(session: Session, mod_ids: Iterable[int]) -> None:
    """Rewrite the public copies of these mods; deleted, unpublished and hidden mods have none."""
    for batch in bulk.batches(sorted(mod_ids)):
        before = read_published(session, batch)
        # The other rows have foreign keys to PublicMod: without it there are none, as of a draft.
        for statement in _DELETES if before else ():
            session.execute(statement, {"mod_ids": batch})
        copies = [copies_of(mod) for mod in _load_public(session, batch)]
        _insert(session, [public_mod for public_mod, *_ in copies])
        _insert(session, [row for _, *rows in copies for row in rows])
        mark_differences(session, before, [public_mod for public_mod, *_ in copies])
        if len(copies) != len(before):
            count = PublicCounter.value + (len(copies) - len(before))
            bulk.execute_bulk(session, update(PublicCounter).where(PublicCounter.name == PUBLISHED).values(value=count))


def _insert(session: Session, rows: list[Any]) -> None:
    session.add_all(rows)
    session.flush()
    for row in rows:
        # The next rewrite deletes them without ORM objects.
        session.expunge(row)


def update_scores(session: Session, mod_ids: Iterable[int]) -> None:
    """Update only the score, the only part of the copies that a vote changes."""
    score = select(_score(Mod)).where(Mod.id == PublicMod.id).scalar_subquery()
    for batch in bulk.batches(sorted(mod_ids)):
        bulk.execute_bulk(session, update(PublicMod).where(PublicMod.id.in_(batch)).values(score=score))


def mark_stale(session: Session, mod_ids: Iterable[int]) -> None:
    """Mark changed or deleted mods, so that their copies are rewritten before the commit."""
    unit_of_work(session).pending.stale_mods.update(mod_ids)


def mark_score_stale(session: Session, mod_ids: Iterable[int]) -> None:
    """Mark mods whose vote counts changed, so that their scores are updated before the commit."""
    unit_of_work(session).pending.stale_scores.update(mod_ids)


def mark_touched(session: Session) -> None:
    """Mark the mods that a flush has written; the step after each flush."""
    dirty = session.dirty
    for row in (*session.new, *dirty, *session.deleted):
        if isinstance(row, Asset):
            mark_stale(session, [row.mod_id])
        elif isinstance(row, Mod):
            mark = mark_score_stale if row in dirty and _changed_attributes(row) <= _VOTES else mark_stale
            mark(session, [row.id])


def _changed_attributes(mod: Mod) -> set[str]:
    return {attribute.key for attribute in inspect(mod).attrs if attribute.history.has_changes()}


def rewrite_touched(session: Session) -> None:
    """Rewrite the copies of the marked mods; the step before the commit, after the last flush of mods."""
    pending = unit_of_work(session).pending
    rewrite_copies(session, pending.stale_mods)
    update_scores(session, pending.stale_scores - pending.stale_mods)


def public_copy_damage(session: Session) -> Iterator[str]:
    """Yield a sentence for each wrong copy; nothing if all is well. For ``modhub-admin verify``.

    Safe while the service runs: what depends on several statements is read again before it is reported.
    """
    for mod_id in session.scalars(_STRAY).all():
        yield f"Mod {mod_id} has a public copy, but it is not published or it is hidden."
    yield from unrecorded_changes(session)
    stored_count = select(PublicCounter.value).where(PublicCounter.name == PUBLISHED).scalar_subquery()
    stored, actual = session.execute(select(stored_count, _COUNT)).one()
    if stored != actual:
        yield f"The stored count of published mods is {stored}; there are {actual}."
    last = 0
    while batch := session.scalars(_public_after(last, bulk.BATCH)).all():
        expected, copies = _expected(session, batch), _actual(session, batch)
        for mod_id in batch:
            if expected.get(mod_id) != copies.get(mod_id) and _differs(session, mod_id):
                yield f"The public copy of mod {mod_id} differs from the mod."
        last = batch[-1]


def _public_after(after: int, limit: int) -> Select[int]:
    return select(Mod.id).where(IS_PUBLIC, Mod.id > after).order_by(Mod.id).limit(limit)


def _differs(session: Session, mod_id: int) -> bool:
    """Whether the copies are wrong while the mod is unchanged. A change of the mod rewrites its copies."""
    for _ in range(MAX_READS):
        before, copies, after = _expected(session, [mod_id]), _actual(session, [mod_id]), _expected(session, [mod_id])
        if before == after:
            return before != copies
    return False


def _expected(session: Session, mod_ids: Sequence[int]) -> dict[int, set[Any]]:
    expected = {mod.id: _row_values(copies_of(mod)) for mod in _load_public(session, mod_ids)}
    session.expunge_all()
    return expected


def _actual(session: Session, mod_ids: Sequence[int]) -> dict[int, set[Any]]:
    actual: dict[int, set[Any]] = defaultdict(set)
    for table in _TABLES:
        for row in session.execute(select(table).where(table.columns[0].in_(mod_ids))):
            actual[row[0]].add((table.name, *row))
    return actual


def _row_values(copies: Iterable[Any]) -> set[Any]:
    return {
        (type(copy).__tablename__, *(getattr(copy, column.key) for column in type(copy).__table__.columns))
        for copy in copies
    }


def count_public(session: Session) -> int:
    """The number of mods that have public copies."""
    return session.scalar(select(_COUNT)) or 0


def rebuild_copies(
    begin: Callable[[], AbstractContextManager[Session]], advance: Callable[[int], None] = lambda _: None
) -> int:
    """Rewrite all public copies and return the number of mods; ``begin`` opens the transaction of each batch.

    Safe while the service runs: mods are locked while their copies are written, with a pause between batches.
    """
    with begin() as session:
        rewrite_copies(session, session.scalars(_STRAY).all())
        mark_vanished(session)
    done = last = 0
    while batch := _rebuild_after(begin, last):
        done, last = done + len(batch), batch[-1]
        advance(len(batch))
        sleep(bulk.BATCH_PAUSE_SECONDS)
    with begin() as session:
        # Lock the row first: a mod published before is counted, one published later increments the count.
        session.execute(select(PublicCounter).where(PublicCounter.name == PUBLISHED).with_for_update())
        bulk.execute_bulk(session, update(PublicCounter).where(PublicCounter.name == PUBLISHED).values(value=_COUNT))
        # Answers that were made from wrong copies must not be kept.
        changes.raise_serial(session)
    return done


def _rebuild_after(begin: Callable[[], AbstractContextManager[Session]], last: int) -> Sequence[int]:
    with begin() as session:
        batch = session.scalars(_public_after(last, REBUILD_BATCH).with_for_update()).all()
        rewrite_copies(session, batch)
        return batch


_RECORDED: Final = and_(PublicChange.key == PublicMod.guid, PublicChange.kind == MOD)
_IS_UNRECORDED: Final = or_(
    PublicChange.serial.is_(None), PublicChange.what == What.DELETED.value, PublicChange.at < PublicMod.updated_at
)
_PUBLISHED: Final = (
    select(
        PublicMod.id,
        PublicMod.guid,
        PublicMod.document,
        PublicMod.links,
        _IS_UNRECORDED,
        PublicChange.what,
        PublicMod.updated_at,
    )
    .outerjoin(PublicChange, _RECORDED)
    .where(PublicMod.id.in_(bindparam("mod_ids", expanding=True)))
)
_UNRECORDED: Final = (
    select(PublicMod.id).outerjoin(PublicChange, _RECORDED).where(_IS_UNRECORDED).order_by(PublicMod.id)
)
_VANISHED: Final = (
    select(PublicChange.key)
    .outerjoin(PublicMod, PublicMod.guid == PublicChange.key)
    .where(PublicChange.kind == MOD, PublicChange.what != What.DELETED.value, PublicMod.id.is_(None))
    .order_by(PublicChange.serial)
)


class PublishedCopy(NamedTuple):
    """The public copy of a mod before it is rewritten; ``unrecorded``: its last change has no serial.

    ``what`` is its last recorded change.
    """

    guid: str
    document: bytes
    links: str
    unrecorded: bool
    what: str | None
    updated_at: datetime

    @property
    def edited(self) -> What:
        """What an edit is recorded as.

        Once files have changed, edits are recorded as that, too: who has missed the entry of the file, since each
        mod has only its latest, must still learn of it (C-SYNC-5).
        """
        return What.FILE if self.what == What.FILE.value else What.EDITED


def read_published(session: Session, mod_ids: Sequence[int]) -> dict[int, PublishedCopy]:
    """Return the present copies of these mods, by id."""
    return {row[0]: PublishedCopy(*row[1:]) for row in session.execute(_PUBLISHED, {"mod_ids": mod_ids})}


def mark_differences(session: Session, before: Mapping[int, PublishedCopy], copies: Sequence[Any]) -> None:
    """Record what differs between the copies before and the new ``PublicMod`` rows, in the order of the ids."""
    rows = {row.id: row for row in copies}
    for mod_id in sorted(before.keys() | rows.keys()):
        old, new = before.get(mod_id), rows.get(mod_id)
        if new is None:
            assert old is not None
            mark_mod_changed(session, old.guid, None, What.DELETED)
        elif what := _difference(old, new):
            mark_mod_changed(session, new.guid, mod_id, what, after=new.updated_at)


def _difference(old: PublishedCopy | None, new: Any) -> What | None:
    if old is None:
        return What.PUBLISHED
    if (old.document, old.links) == (new.document, new.links):
        return old.edited if old.unrecorded else None
    same_files = old.links == new.links and _files(old.document) == _files(new.document)
    return old.edited if same_files else What.FILE


def mark_changelog_edited(session: Session, mod_id: int) -> None:
    """Record an edit of the changelog if the mod is public; the copy stays as it is (C-SYNC-5)."""
    for published in read_published(session, [mod_id]).values():
        mark_mod_changed(session, published.guid, mod_id, published.edited, after=published.updated_at)


def _files(document: bytes) -> tuple[str, list[AssetDocument]] | None:
    """What an upload changes in the document of a mod; None of a damaged copy, which is being mended."""
    try:
        mod = decode_mod(document)
    except DecodeError:
        return None
    return mod.version, mod.assets


def mark_vanished(session: Session) -> None:
    """Record the deletion of mods that have lost their copies without a record."""
    for guid in session.scalars(_VANISHED):
        mark_mod_changed(session, guid, None, What.DELETED)


def unrecorded_changes(session: Session) -> Iterator[str]:
    """Yield a sentence for each mod whose latest change was not recorded; for ``modhub-admin verify``."""
    for mod_id in session.scalars(_UNRECORDED):
        yield f"The last change of mod {mod_id} is missing from the list of changes."
    for guid in session.scalars(_VANISHED):
        yield f"The list of changes has the mod {guid}, which is not published or is hidden."
