"""The public copies of published mods, kept true in one place.

Anonymous readers see these tables and nothing else: what is not published, or is hidden by an operator, has no row
here. A listener on every session notes which mods a flush touches, and rewrites their copies before the commit; nobody
has to remember to. Whoever writes round the session's objects says so: :func:`mark_stale`, :func:`mark_score_stale`.
``verify`` compares the copies with what they are made from, ``rebuild`` makes them all anew.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from time import sleep
from typing import Any, Final

from sqlalchemy import Select, and_, delete, event, exists, func, inspect, select, update
from sqlalchemy.orm import Session, selectinload

from modhub import bulk
from modhub.catalogue.models import (
    Asset,
    Mod,
    PublicCounter,
    PublicGame,
    PublicMod,
    PublicRequirement,
    PublicText,
)
from modhub.catalogue.references import fold_guid
from modhub.catalogue.response_schemas import file_links, mod_document
from modhub.folding import fold_game, fold_search
from modhub.payload import encode

PUBLISHED: Final = "published mods"
IS_PUBLIC: Final = and_(Mod.published, Mod.hidden_at.is_(None))
"""Whether a mod has public copies; the one place that says so."""
READINGS: Final = 10
"""How often a mod that seems damaged is read again while it is being changed just then."""

REBUILD_BATCH: Final = 100
"""Mods that ``rebuild`` writes in one transaction: a tenth of a second in which, on SQLite, nobody else writes."""

_STALE: Final = "modhub stale mods"
_SCORED: Final = "modhub stale scores"
_VOTES: Final = {"ups", "downs"}
"""What a vote changes of a mod; of the copies, the score alone is made from these."""
_COPIES: Final = (PublicText, PublicGame, PublicRequirement, PublicMod)
_STRAY: Final = select(PublicMod.id).where(~exists().where(Mod.id == PublicMod.id, IS_PUBLIC)).order_by(PublicMod.id)
_COUNT: Final = select(func.count()).select_from(Mod).where(IS_PUBLIC).scalar_subquery()


def _score(mod: Any) -> Any:
    """The score of a mod; of the class, the expression for it."""
    return mod.ups - mod.downs


def copies_of(mod: Mod) -> list[Any]:
    """The rows that a mod has in the public tables, its own row first."""
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
        *(PublicRequirement(mod_id=mod.id, position=at, guid=fold_guid(guid)) for at, guid in enumerate(mod.requires)),
    ]


def _load(session: Session, mod_ids: Sequence[int]) -> Iterator[Mod]:
    statement = (
        select(Mod)
        .where(Mod.id.in_(mod_ids), IS_PUBLIC)
        .options(selectinload(Mod.assets).joinedload(Asset.blob))
        .execution_options(populate_existing=True)
    )
    yield from session.scalars(statement)


def _named(copy: Any, mod_ids: Sequence[int]) -> Any:
    key = copy.id if copy is PublicMod else copy.mod_id
    return key.in_(mod_ids)


def rewrite_copies(session: Session, mod_ids: Iterable[int]) -> None:
    """Make the public copies of these mods anew; a mod that is gone, not published or hidden has none."""
    for batch in bulk.batches(sorted(mod_ids)):
        before = session.scalar(select(func.count()).select_from(PublicMod).where(PublicMod.id.in_(batch))) or 0
        for copy in _COPIES:
            bulk.execute_bulk(session, delete(copy).where(_named(copy, batch)))
        made = [copies_of(mod) for mod in _load(session, batch)]
        # The others refer to the own rows.
        _insert(session, [own for own, *_ in made])
        _insert(session, [other for _, *others in made for other in others])
        if len(made) != before:
            changed = PublicCounter.value + (len(made) - before)
            bulk.execute_bulk(
                session, update(PublicCounter).where(PublicCounter.name == PUBLISHED).values(value=changed)
            )


def _insert(session: Session, rows: list[Any]) -> None:
    session.add_all(rows)
    session.flush()
    for row in rows:
        # They are written past the session's objects the next time.
        session.expunge(row)


def update_scores(session: Session, mod_ids: Iterable[int]) -> None:
    """Make the score alone anew: that is all that a vote changes of the copies."""
    truth = select(_score(Mod)).where(Mod.id == PublicMod.id).scalar_subquery()
    for batch in bulk.batches(sorted(mod_ids)):
        bulk.execute_bulk(session, update(PublicMod).where(PublicMod.id.in_(batch)).values(score=truth))


def mark_stale(session: Session, mod_ids: Iterable[int]) -> None:
    """These mods were changed or deleted; their copies are made anew before the commit."""
    session.info.setdefault(_STALE, set()).update(mod_ids)


def mark_score_stale(session: Session, mod_ids: Iterable[int]) -> None:
    """The votes on these mods were counted anew; their scores are made anew before the commit."""
    session.info.setdefault(_SCORED, set()).update(mod_ids)


def _note_touched(session: Session, _context: Any) -> None:
    dirty = session.dirty
    for row in (*session.new, *dirty, *session.deleted):
        if isinstance(row, Asset):
            mark_stale(session, [row.mod_id])
        elif isinstance(row, Mod):
            note = mark_score_stale if row in dirty and _changed(row) <= _VOTES else mark_stale
            note(session, [row.id])


def _changed(mod: Mod) -> set[str]:
    return {attribute.key for attribute in inspect(mod).attrs if attribute.history.has_changes()}


def _rewrite_touched(session: Session) -> None:
    session.flush()
    if session.in_nested_transaction():
        # The end of a savepoint. What was noted stays noted until the commit.
        return
    stale = session.info.pop(_STALE, set())
    rewrite_copies(session, stale)
    update_scores(session, session.info.pop(_SCORED, set()) - stale)


def register_listeners(factory: Any) -> None:
    """Listen on a session factory; called once where the application's sessions are made."""
    event.listen(factory, "after_flush", _note_touched)
    event.listen(factory, "before_commit", _rewrite_touched)


def public_copy_damage(session: Session) -> Iterator[str]:
    """Sentences about copies that are not what they should be; none is well. For ``modhub-admin verify``.

    The service may run meanwhile. What one statement says is of one moment; what several say is looked at again.
    """
    for mod_id in session.scalars(_STRAY).all():
        yield f"Mod {mod_id} has a public copy and is not published, or it is hidden."
    number = select(PublicCounter.value).where(PublicCounter.name == PUBLISHED).scalar_subquery()
    value, count = session.execute(select(number, _COUNT)).one()
    if value != count:
        yield f"The kept number of published mods is {value}; there are {count}."
    last = 0
    while batch := session.scalars(_public_after(last, bulk.BATCH)).all():
        due, kept = _expected(session, batch), _actual(session, batch)
        for mod_id in batch:
            if due.get(mod_id) != kept.get(mod_id) and _differs(session, mod_id):
                yield f"The public copy of mod {mod_id} differs from the mod."
        last = batch[-1]


def _public_after(after: int, most: int) -> Select[int]:
    return select(Mod.id).where(IS_PUBLIC, Mod.id > after).order_by(Mod.id).limit(most)


def _differs(session: Session, mod_id: int) -> bool:
    """Whether the copies are wrong while the mod stays as it is. Whoever changes it makes its copies right."""
    for _ in range(READINGS):
        before, kept, after = _expected(session, [mod_id]), _actual(session, [mod_id]), _expected(session, [mod_id])
        if before == after:
            return before != kept
    return False


def _expected(session: Session, mod_ids: Sequence[int]) -> dict[int, set[Any]]:
    due = {mod.id: _rows(copies_of(mod)) for mod in _load(session, mod_ids)}
    session.expunge_all()
    return due


def _actual(session: Session, mod_ids: Sequence[int]) -> dict[int, set[Any]]:
    kept: dict[int, set[Any]] = defaultdict(set)
    for copy in _COPIES:
        for row in session.execute(select(*copy.__table__.columns).where(_named(copy, mod_ids))):
            # Each table begins with the number of the mod.
            kept[row[0]].add((copy.__name__, *row))
    return kept


def _rows(copies: Iterable[Any]) -> set[Any]:
    return {
        (type(copy).__name__, *(getattr(copy, column.key) for column in type(copy).__table__.columns))
        for copy in copies
    }


def rebuild_copies(begin: Callable[[], AbstractContextManager[Session]]) -> int:
    """Make all public copies anew, a batch in each transaction that ``begin`` gives; answers how many mods have them.

    The service may run meanwhile: a mod is locked while its copies are written, and others have their turn in between.
    """
    with begin() as session:
        rewrite_copies(session, session.scalars(_STRAY).all())
    done = last = 0
    while batch := _rebuild_after(begin, last):
        done, last = done + len(batch), batch[-1]
        sleep(bulk.BATCH_PAUSE_SECONDS)
    with begin() as session:
        # Its row first: whoever has published a mod by then is counted, whoever comes later adds to it.
        session.execute(select(PublicCounter).where(PublicCounter.name == PUBLISHED).with_for_update())
        bulk.execute_bulk(session, update(PublicCounter).where(PublicCounter.name == PUBLISHED).values(value=_COUNT))
    return done


def _rebuild_after(begin: Callable[[], AbstractContextManager[Session]], last: int) -> Sequence[int]:
    with begin() as session:
        batch = session.scalars(_public_after(last, REBUILD_BATCH).with_for_update()).all()
        rewrite_copies(session, batch)
        return batch
