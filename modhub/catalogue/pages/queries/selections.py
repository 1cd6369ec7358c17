"""Statements of selections: published mods by id, author or game, newest change first."""

from typing import Any, Final

from sqlalchemy import BigInteger, Text, cast, func, select, union

from modhub.catalogue.list_queries import newest_page
from modhub.catalogue.lookup_queries import json_items
from modhub.catalogue.models import PublicGame, PublicMod
from modhub.catalogue.queries import AnySelect
from modhub.interfaces import ChangeWatch

_LIST: Final = "selected"


def _selected(dialect: str) -> Any:
    """The ids of the published mods that ``mods``, ``authors`` or ``games`` name; each is a JSON array."""

    def named(name: str, kind: Any) -> Any:
        return select(cast(json_items(name, dialect).subquery().c.value, kind))

    return union(
        select(PublicMod.id).where(PublicMod.id.in_(named("mods", BigInteger))),
        select(PublicMod.id).where(PublicMod.owner.in_(named("authors", BigInteger))),
        select(PublicGame.mod_id).where(PublicGame.folded.in_(named("games", Text))),
    ).subquery(_LIST)


def selected_total_statement(dialect: str) -> AnySelect:
    """The number of the selected mods."""
    return select(func.count()).select_from(_selected(dialect))


def selected_page_statement(dialect: str, columns: tuple[Any, ...]) -> AnySelect:
    """The ``columns`` of one page of the selected mods."""
    ids = select(_selected(dialect).c[0])
    hits = select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment")).where(PublicMod.id.in_(ids))
    return newest_page(hits, columns)


def changed_total_statement(watch: ChangeWatch, but_of: Any, most: int) -> AnySelect:
    """The number, up to ``most``, of the published mods that have changed since the moments of the watch.

    Each part begins with what is watched and reads only what is newer, by the indexes of the public tables.
    """
    mods, authors, games = (watched.subquery() for watched in watch)
    is_of_game = (PublicGame.folded == games.c[0]) & (PublicGame.updated_at > games.c[1])
    parts = (
        select(PublicMod.id).join(mods, PublicMod.id == mods.c[0]).where(PublicMod.updated_at > mods.c[1]),
        select(PublicMod.id).join(authors, PublicMod.owner == authors.c[0]).where(PublicMod.updated_at > authors.c[1]),
        select(PublicMod.id).join(PublicGame, PublicGame.mod_id == PublicMod.id).join(games, is_of_game),
    )
    changed = union(*(part.where(PublicMod.owner != but_of) for part in parts)).subquery()
    return select(func.count()).select_from(select(changed).limit(most).subquery())
