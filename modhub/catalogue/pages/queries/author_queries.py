"""Statements about the authors of published mods: found by their names, and the sums of their mods."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, exists, func, select

from modhub.catalogue.lookup_queries import json_items
from modhub.catalogue.models import Mod, PublicMod
from modhub.catalogue.pages.queries.statements import figure_of, of_mod
from modhub.catalogue.queries import AnySelect
from modhub.plugins.declarations import ModColumn
from modhub.plugins.services import ProfileColumns


def _is_found(accounts: ProfileColumns, dialect: str) -> ColumnElement[bool]:
    """Whether an account has published mods, and a name with ``longest`` and all other ``patterns``, a JSON array.

    Most names lack the longest word, so hardly any is compared with the others.
    """
    patterns = json_items("patterns", dialect).subquery()
    lacks_one = exists().where(~accounts.folded.like(patterns.c.value, escape="\\")).correlate(accounts.id.table)
    has_longest = accounts.folded.like(bindparam("longest"), escape="\\")
    # From the owners to their accounts: most accounts have no mods.
    return and_(accounts.id.in_(select(PublicMod.owner).distinct()), has_longest, ~lacks_one)


def found_authors_statement(accounts: ProfileColumns, dialect: str) -> AnySelect:
    """(account id, name, number of published mods) of ``size`` authors from ``offset`` on, by name."""
    mods: Any = select(func.count()).where(PublicMod.owner == accounts.id).correlate(accounts.id.table)
    matching = select(accounts.id, accounts.name, mods.scalar_subquery()).where(_is_found(accounts, dialect))
    page = matching.order_by(accounts.folded, accounts.id)
    return page.limit(bindparam("size")).offset(bindparam("offset"))


def found_authors_total_statement(accounts: ProfileColumns, dialect: str) -> AnySelect:
    """The number of these authors."""
    return select(func.count()).select_from(accounts.id.table).where(_is_found(accounts, dialect))


def author_totals_statement(figures: Iterable[ModColumn]) -> AnySelect:
    """The number of the published mods of ``owner``, the sums of their votes for and against and of their figures."""
    summed = (of_mod(Mod.ups), of_mod(Mod.downs), *map(figure_of, figures))
    sums = (func.coalesce(func.sum(number), 0) for number in summed)
    return select(func.count(), *sums).select_from(PublicMod).where(PublicMod.owner == bindparam("owner"))
