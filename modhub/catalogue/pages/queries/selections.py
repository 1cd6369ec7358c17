"""Published mods by id, author or game, newest change first: pages and feeds of authors, and lists of features."""

from typing import Any, Final

from sqlalchemy import BigInteger, Text, cast, func, select, union

from modhub.catalogue.list_queries import newest_page
from modhub.catalogue.lookup_queries import json_items
from modhub.catalogue.models import PublicGame, PublicMod
from modhub.catalogue.pages.queries import statements
from modhub.catalogue.pages.queries.page_queries import Listing, card_of
from modhub.catalogue.pages.queries.updates import ModUpdate, newest_updates
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.read_service import ListParams
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.http.payload import encode
from modhub.interfaces import ModSelection

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


def _page_statement(dialect: str, columns: tuple[Any, ...]) -> AnySelect:
    ids = select(_selected(dialect).c[0])
    hits = select(PublicMod.id.label("id"), PublicMod.updated_at.label("moment")).where(PublicMod.id.in_(ids))
    return newest_page(hits, columns)


def _authors_statement() -> AnySelect:
    """(author, time of the latest change) of the authors of published mods with ``above`` < id <= ``upto``."""
    rows = select(PublicMod.owner, func.max(PublicMod.updated_at)).group_by(PublicMod.owner)
    return rows.where(*statements.in_range(PublicMod.owner)).order_by(PublicMod.owner)


class SelectionReader:
    """Reads selections of mods; one per application. Each list is two statements."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        self._total = reader.prepare(select(func.count()).select_from(_selected(reader.dialect)))
        self._cards = reader.prepare(_page_statement(reader.dialect, statements.CARD_COLUMNS))
        self._updates = reader.prepare(_page_statement(reader.dialect, statements.UPDATE_COLUMNS))
        self._authors = reader.prepare(_authors_statement())
        self._last_author = reader.prepare(select(func.max(PublicMod.owner)))

    def listing(self, selection: ModSelection, params: ListParams) -> Listing:
        """Return one page of the mods as cards; of ``params`` only ``page`` and ``size`` count."""
        total, rows = self._rows(self._cards, selection, params)
        return Listing([card_of(row) for row in rows], total, params)

    def updates(self, selection: ModSelection, params: ListParams) -> list[ModUpdate]:
        """Return the newest versions of the mods, at most ``params.size``."""
        return newest_updates(self._rows(self._updates, selection, params)[1], params)

    def sitemap(self, above: int, upto: int) -> list[tuple[int, str]]:
        """Return (author, time of change) of the authors of published mods with ``above`` < id <= ``upto``."""
        return [(row[0], iso(from_micros(row[1]))) for row in self._reader.rows(self._authors, above=above, upto=upto)]

    def last_author(self) -> int:
        """Return the highest id of an author of a published mod, 0 if there is none."""
        return self._reader.rows(self._last_author)[0][0] or 0

    def _rows(self, page: PreparedQuery, selection: ModSelection, params: ListParams) -> tuple[int, list[Row]]:
        values = {name: encode(list(ids)).decode() for name, ids in selection._asdict().items()}
        total, offset = self._reader.rows(self._total, **values)[0][0], (params.page - 1) * params.size
        if offset >= total:
            return total, []
        return total, self._reader.rows(page, **values, size=params.size, offset=offset)
