"""What anonymous readers ask: lists, one mod with its chain, changelogs, games, files. From the public tables alone."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from modhub import limits
from modhub.catalogue import queries
from modhub.catalogue.chains import InstallChain, install_order
from modhub.catalogue.queries import TRIGRAM, AnySelect, ListVariant
from modhub.catalogue.response_schemas import NoteDocument, is_picture
from modhub.db import from_micros, iso
from modhub.downloads import A_DAY, IMMUTABLE, REVALIDATE, StoredFile
from modhub.folding import fold_game, fold_search, like_pattern, search_words
from modhub.payload import encode
from modhub.raw_queries import PreparedQuery, RawQueryExecutor, Row

ListStatement = Callable[[ListVariant], AnySelect]
GameDocument = dict[str, str | None]
_NO_ID = -1


@dataclass(frozen=True, slots=True)
class ListParams:
    """What a list is asked for, with the values that are used (C-LIST-2)."""

    q: str = ""
    game: str = ""
    sort: str = "new"
    page: int = 1
    size: int = limits.PAGE_SIZE


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of a list: the documents, and how many hits there are in all."""

    documents: list[bytes]
    total: int
    wish: ListParams

    @property
    def more(self) -> bool:
        """Whether a next page has something."""
        return self.wish.page * self.wish.size < self.total

    def body(self) -> bytes:
        """The answer of ``GET /api/modhub``."""
        wish = self.wish
        head = b'{"count":%d,"total":%d,"page":%d,"size":%d,"more":%s,"mods":[' % (
            len(self.documents),
            self.total,
            wish.page,
            wish.size,
            b"true" if self.more else b"false",
        )
        return head + b",".join(self.documents) + b"]}"


class CatalogueReader:
    """The reading side of the catalogue; one for an application."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader
        self._lists: dict[tuple[ListStatement, ListVariant], PreparedQuery] = {}
        self._chain = reader.prepare(queries.chain_statement())
        self._notes = reader.prepare(queries.notes_statement())
        self._asset = reader.prepare(queries.asset_statement())
        self._code = reader.prepare(queries.code_statement())
        self._icon = reader.prepare(queries.icon_statement())
        self._games = reader.prepare(queries.games_statement())
        self._known_games: tuple[list[Row], list[GameDocument]] = ([], [])
        self._votes = reader.prepare(queries.votes_statement())
        self._owner = reader.prepare(queries.owner_statement())
        self._note_owner = reader.prepare(queries.note_owner_statement())
        self._image_owner = reader.prepare(queries.image_owner_statement())

    def owner(self, mod_id: int | None) -> int | None:
        """The account that owns a mod, None when there is no such mod."""
        return self._account(self._owner, id=mod_id)

    def note_owner(self, mod_id: int | None, note_id: int | None) -> int | None:
        """The account that owns a mod with this changelog entry, None when there is no such entry in it."""
        return self._account(self._note_owner, id=mod_id, member=note_id)

    def image_owner(self, mod_id: int | None, asset_id: int | None) -> int | None:
        """The account that owns a mod with this image, None when there is no such image in it."""
        return self._account(self._image_owner, id=mod_id, member=asset_id)

    def _account(self, statement: PreparedQuery, **ids: int | None) -> int | None:
        # The statement runs for what is no id too, so that the time tells nothing (T-B4).
        rows = self.reader.rows(statement, **{name: _NO_ID if value is None else value for name, value in ids.items()})
        return rows[0][0] if rows else None

    def find(self, wish: ListParams) -> ResultPage:
        """One page of published mods."""
        total, rows = self.rows(wish, queries.page_statement)
        return ResultPage([bytes(row[0]) for row in rows], total, wish)

    def rows(self, wish: ListParams, page: ListStatement) -> tuple[int, list[Row]]:
        """(number of all hits, the rows of one page); ``page`` makes the statement for a shape."""
        shape, values = self._shape(wish)
        total = self.reader.rows(self._list(queries.total_statement, shape), **values)[0][0]
        offset = (wish.page - 1) * wish.size
        if offset >= total:
            return total, []
        return total, self.reader.rows(self._list(page, shape), **values, size=wish.size, offset=offset)

    def _shape(self, wish: ListParams) -> tuple[ListVariant, dict[str, Any]]:
        words = search_words(wish.q)
        # SQLite's index answers words of three letters and more; PostgreSQL's serves LIKE itself.
        indexed = [word for word in words if len(word) >= TRIGRAM] if self.reader.dialect == "sqlite" else []
        scanned = [word for word in words if word not in indexed]
        values: dict[str, Any] = {f"word{at}": like_pattern(word) for at, word in enumerate(scanned)}
        if indexed:
            values["match"] = " AND ".join('"' + word.replace('"', '""') + '"' for word in indexed)
        game = fold_game(wish.game)
        if game:
            values["game"] = game
        return ListVariant(wish.sort == "top", bool(game), len(scanned), bool(indexed)), values

    def _list(self, make: ListStatement, shape: ListVariant) -> PreparedQuery:
        statement = self._lists.get((make, shape))
        if statement is None:
            statement = self._lists[make, shape] = self.reader.prepare(make(shape))
        return statement

    def mod(self, mod_id: int | None) -> tuple[bytes, str] | None:
        """The answer of ``GET /api/modhub/{id}``: the mod with ``install`` and ``missing``, and its ``Link`` header.

        None when it is not published.
        """
        chain = self.chain(mod_id)
        if chain is None:
            return None
        install = b",".join(chain.install)
        body = chain.install[-1][:-1] + b',"install":[' + install + b'],"missing":' + encode(chain.missing) + b"}"
        return body, chain.links

    def chain(self, mod_id: int | None) -> InstallChain | None:
        """What the mod needs, in order; None when it is not published."""
        rows = [] if mod_id is None else self.reader.rows(self._chain, id=mod_id)
        if not rows:
            return None
        known = {row[0]: row for row in rows if row[1] is not None}
        root = next(guid for guid, row in known.items() if row[1] == mod_id)
        order, missing = install_order(root, {guid: row[3].split() for guid, row in known.items()})
        return InstallChain([bytes(known[guid][2]) for guid in order], missing, known[root][4])

    def notes(self, mod_id: int | None) -> list[NoteDocument] | None:
        """The changelog, newest first; None when the mod is not published."""
        rows = [] if mod_id is None else self.reader.rows(self._notes, id=mod_id)
        if not rows:
            return None
        return [note_of(row) for row in rows if row[0] is not None]

    def votes(self, mod_id: int | None) -> tuple[int, int] | None:
        """(ups, downs); None when the mod is not published."""
        rows = [] if mod_id is None else self.reader.rows(self._votes, id=mod_id)
        return (rows[0][0], rows[0][1]) if rows else None

    def games(self) -> list[GameDocument]:
        """The curated games; one list, not to be changed, for as long as the rows are the same."""
        rows = self.reader.rows(self._games)
        known = self._known_games
        if rows != known[0]:
            ordered = sorted(rows, key=lambda row: (fold_search(row[1]), row[0]))
            known = self._known_games = (rows, [_game(*row) for row in ordered])
        return known[1]

    def asset(self, asset_id: int | None) -> StoredFile | None:
        """A file of a published mod. Images may be kept for a day; code and css keep their address when replaced."""
        rows = [] if asset_id is None else self.reader.rows(self._asset, id=asset_id)
        if not rows:
            return None
        image = rows[0][6] == "image"
        return file_of(rows[0], inline=image, cache_control=A_DAY if image else REVALIDATE)

    def code(self, mod_id: int | None) -> StoredFile | None:
        """The code file of a published mod."""
        rows = [] if mod_id is None else self.reader.rows(self._code, id=mod_id)
        return file_of(rows[0], inline=False, cache_control=REVALIDATE) if rows else None

    def icon(self, icon_id: int | None) -> StoredFile | None:
        """The icon of a curated game; a new icon has a new address."""
        rows = [] if icon_id is None else self.reader.rows(self._icon, id=icon_id)
        return file_of(rows[0], inline=True, cache_control=IMMUTABLE) if rows else None


def _game(name: str, shown: str, icon: int | None) -> GameDocument:
    return {"name": name, "displayName": shown, "iconUrl": f"/Modhub/game-icon/{icon}" if icon else None}


def note_of(row: Row) -> NoteDocument:
    """A changelog entry from a row of a notes statement."""
    edited = None if row[4] is None else iso(from_micros(row[4]))
    return NoteDocument(row[0], row[1], row[2], iso(from_micros(row[3])), edited, bool(row[5]))


def file_of(row: Row, *, inline: bool, cache_control: str, private: bool = False) -> StoredFile:
    """A stored file from a row of `modhub.catalogue.queries.FILE_COLUMNS`; ``inline``: shown in place, if an image."""
    # Only a stored image type may be shown in place, whatever the kind (C-FILE-4).
    shown = inline and is_picture(row[4])
    return StoredFile(
        key=row[0],
        size=row[1],
        sha256=row[2],
        name=row[3],
        content_type=row[4],
        modified=from_micros(row[5]),
        inline=shown,
        cache_control=cache_control,
        private=private,
    )
