"""The public copies of published mods, kept true in one place.

Anonymous readers see these tables and nothing else: what is not published has no row here. A listener on every session
notes which mods a flush touches, and rewrites their copies before the commit; nobody has to remember to. ``verify``
compares the copies with what they are made from.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import delete, event, func, select, update
from sqlalchemy.orm import Session, selectinload

from modhub.catalogue.documents import mod_document
from modhub.catalogue.models import (
    Asset,
    Counter,
    Mod,
    PublicGame,
    PublicMod,
    PublicRequirement,
    PublicText,
)
from modhub.folding import fold_game, fold_search
from modhub.payload import encode

PUBLISHED = "published mods"
_STALE = "modhub stale mods"
_COPIES = (PublicText, PublicGame, PublicRequirement, PublicMod)


def copies_of(mod: Mod) -> list[Any]:
    """The rows that a published mod has in the public tables, its own row first."""
    folded = dict.fromkeys(fold_game(game) for game in mod.games)
    lines = [fold_search(line) for line in (mod.title, *mod.games)]
    return [
        PublicMod(
            id=mod.id,
            guid=mod.guid,
            owner=mod.owner,
            score=mod.ups - mod.downs,
            updated_at=mod.updated_at,
            requires=" ".join(mod.requires),
            document=encode(mod_document(mod)),
        ),
        PublicText(mod_id=mod.id, updated_at=mod.updated_at, text="\n".join(lines)),
        *(PublicGame(mod_id=mod.id, folded=game, updated_at=mod.updated_at) for game in folded),
        *(PublicRequirement(mod_id=mod.id, position=at, guid=guid) for at, guid in enumerate(mod.requires)),
    ]


def _load(session: Session, mod_ids: Iterable[int]) -> Iterator[Mod]:
    statement = (
        select(Mod)
        .where(Mod.id.in_(list(mod_ids)), Mod.published)
        .options(selectinload(Mod.assets).joinedload(Asset.blob))
        .execution_options(populate_existing=True)
    )
    yield from session.scalars(statement)


def rewrite(session: Session, mod_ids: Iterable[int]) -> None:
    """Make the public copies of these mods anew; a mod that is gone or not published has none."""
    wanted = sorted(mod_ids)
    before = session.scalar(select(func.count()).select_from(PublicMod).where(PublicMod.id.in_(wanted))) or 0
    for copy in _COPIES:
        key = copy.id if copy is PublicMod else copy.mod_id  # type: ignore[union-attr]
        session.execute(delete(copy).where(key.in_(wanted)), execution_options={"synchronize_session": False})
    after = 0
    for mod in _load(session, wanted):
        own, *others = copies_of(mod)
        session.add(own)
        # The others refer to it.
        session.flush()
        session.add_all(others)
        after += 1
    if after != before:
        change = update(Counter).where(Counter.name == PUBLISHED).values(value=Counter.value + (after - before))
        session.execute(change, execution_options={"synchronize_session": False})


def _note_touched(session: Session, _context: Any) -> None:
    stale = session.info.setdefault(_STALE, set())
    for row in (*session.new, *session.dirty, *session.deleted):
        if isinstance(row, Mod):
            stale.add(row.id)
        elif isinstance(row, Asset):
            stale.add(row.mod_id)


def _rewrite_touched(session: Session) -> None:
    session.flush()
    stale = session.info.pop(_STALE, None)
    if stale and not session.in_nested_transaction():
        rewrite(session, stale)


def keep_true(factory: Any) -> None:
    """Listen on a session factory; called once where the application's sessions are made."""
    event.listen(factory, "after_flush", _note_touched)
    event.listen(factory, "before_commit", _rewrite_touched)


def damage(session: Session) -> Iterator[str]:
    """Sentences about copies that are not what they should be; none is well. For ``modhub-admin verify``."""
    published = set(session.scalars(select(Mod.id).where(Mod.published)))
    copied = set(session.scalars(select(PublicMod.id)))
    for mod_id in sorted(copied - published):
        yield f"Mod {mod_id} has a public copy and is not published."
    count = session.scalar(select(Counter.value).where(Counter.name == PUBLISHED))
    if count != len(published):
        yield f"The kept number of published mods is {count}; there are {len(published)}."
    ordered = sorted(published)
    for start in range(0, len(ordered), 500):
        for mod in _load(session, ordered[start : start + 500]):
            if _rows(copies_of(mod)) != _rows(_kept(session, mod.id)):
                yield f"The public copy of mod {mod.id} differs from the mod."
        session.expunge_all()


def _kept(session: Session, mod_id: int) -> list[Any]:
    kept: list[Any] = []
    for copy in _COPIES:
        key = copy.id if copy is PublicMod else copy.mod_id  # type: ignore[union-attr]
        kept += session.scalars(select(copy).where(key == mod_id))
    return kept


def _rows(copies: Iterable[Any]) -> set[Any]:
    return {
        (type(copy).__name__, *(getattr(copy, column.key) for column in type(copy).__table__.columns))
        for copy in copies
    }
