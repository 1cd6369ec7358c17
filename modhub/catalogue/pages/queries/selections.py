"""Statements of selections: published mods by id, author or game, newest change first."""

from typing import Any, Final

from sqlalchemy import case, func, select, union, union_all

from modhub.catalogue.list_queries import newest_page
from modhub.catalogue.lookup_queries import json_ids, json_items
from modhub.catalogue.models import Mod, PublicGame, PublicMod
from modhub.catalogue.queries import AnySelect
from modhub.plugins.services import ChangeWatch

_LIST: Final = "selected"


def _selected(dialect: str) -> Any:
    """The ids of the published mods that ``mods``, ``authors`` or ``games`` name; each is a JSON array."""

    return union(
        select(PublicMod.id).where(PublicMod.id.in_(json_ids("mods", dialect))),
        select(PublicMod.id).where(PublicMod.owner.in_(json_ids("authors", dialect))),
        select(PublicGame.mod_id).where(PublicGame.folded.in_(json_items("games", dialect))),
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
    """The number, up to ``most``, of the published mods that have changed since the moments of the watch."""
    changed = union(*(part.with_only_columns(PublicMod.id) for part in _changed(watch, but_of))).subquery()
    return select(func.count()).select_from(select(changed).limit(most).subquery())


def changed_statement(watch: ChangeWatch, but_of: Any) -> AnySelect:
    """(id, moment) of these mods; of one that is watched in several ways the first moment."""
    changed = union_all(*_changed(watch, but_of)).subquery()
    return select(changed.c.id, func.min(changed.c.since)).group_by(changed.c.id)


def changed_among_statement(watch: ChangeWatch, but_of: Any, dialect: str) -> AnySelect:
    """(id, 1 if it was created since, else 0) of those of the mods ``ids`` that `changed_total_statement` counts."""
    ids = json_ids("ids", dialect)
    changed = union_all(*(part.where(PublicMod.id.in_(ids)) for part in _changed(watch, but_of))).subquery()
    is_new = func.max(case((Mod.created_at > changed.c.since, 1), else_=0))
    return select(changed.c.id, is_new).join(Mod, Mod.id == changed.c.id).group_by(changed.c.id)


def _changed(watch: ChangeWatch, but_of: Any) -> list[AnySelect]:
    """(id, since) of the mods that have changed since, in each of the three ways.

    Each part begins with what is watched and reads only what is newer, by the indexes of the public tables.
    """
    mods, authors, games = (watched.subquery() for watched in watch)
    is_of_game = (PublicGame.folded == games.c[0]) & (PublicGame.updated_at > games.c[1])
    in_mods, in_authors, in_games = (select(PublicMod.id, way.c[1].label("since")) for way in (mods, authors, games))
    parts = (
        in_mods.join(mods, PublicMod.id == mods.c[0]).where(PublicMod.updated_at > mods.c[1]),
        in_authors.join(authors, PublicMod.owner == authors.c[0]).where(PublicMod.updated_at > authors.c[1]),
        in_games.select_from(PublicMod).join(PublicGame, PublicGame.mod_id == PublicMod.id).join(games, is_of_game),
    )
    return [part.where(PublicMod.owner != but_of) for part in parts]
