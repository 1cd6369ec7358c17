"""Published mods with all that they require, in installation order.

First is read how large their JSON is and in which state, then the JSON, one by one.

So an answer with many mods is known before it is made, and never lies in memory as a whole (T-D20).
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import and_, case, func, literal_column, select, true
from sqlalchemy.sql.expression import ColumnElement

from modhub.base.composed_body import ComposedBody, ContentChanged, by_size
from modhub.base.errors import busy
from modhub.catalogue.bodies import fold_guid
from modhub.catalogue.documents import decode_mod
from modhub.catalogue.models import PublicMod, PublicRequirement
from modhub.catalogue.reading import statements
from modhub.catalogue.reading.statements import GUID_IS_LISTED, AnySelect, json_ids, note_of
from modhub.db import from_micros, iso
from modhub.db.changes import MOD, Generation, PublicChange
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import PublicFile, PublicNote, RelatedMod, StoredDocument
from modhub.web.payload import encode
from modhub.web.responses import MAX_COMPOSITIONS


@dataclass(frozen=True, slots=True)
class InstallChain:
    """What is stored of a mod and all that it requires, in installation order, and the GUIDs that are missing.

    The mod itself is last.
    """

    install: list[StoredDocument]
    missing: list[str]


def install_order(roots: Iterable[str], requires: Mapping[str, list[str]]) -> tuple[list[str], list[str]]:
    """Return (order, missing) for the wanted GUIDs and all that they require (C-READ-2).

    A depth-first post-order traversal that visits each mod once; iterative, since the depth is not limited.
    ``requires`` maps folded GUIDs to lists of GUIDs as written. A GUID without an entry is missing, and is returned in
    the spelling in which it first occurs.
    """
    order: list[str] = []
    missing: list[str] = []
    seen: set[str] = set()
    # The wanted ones are what nothing requires; no GUID is empty.
    stack: list[tuple[str, Iterable[str]]] = [("", iter(roots))]
    while stack:
        guid, guids = stack[-1]
        for spelling in guids:
            folded = fold_guid(spelling)
            if folded in seen:
                continue
            seen.add(folded)
            if folded in requires:
                stack.append((folded, iter(requires[folded])))
                break
            missing.append(spelling)
        else:
            order.append(guid)
            stack.pop()
    return order[:-1], missing


_FEED: Final = select(Generation.feed).scalar_subquery()


def _stored_columns(mod: Any) -> list[Any]:
    """The columns of `StoredDocument` without the GUID; the length of a document is known without reading it."""
    serial = _serial(mod.guid)
    feed = case((mod.id.is_not(None), _FEED))
    return [mod.id, func.length(mod.document), serial, mod.requires, mod.links, feed]


def _serial(guid: Any) -> Any:
    is_recorded = and_(PublicChange.key == guid, PublicChange.kind == MOD)
    return select(PublicChange.serial).where(is_recorded).scalar_subquery()


def chain_statement(
    dialect: str, start: ColumnElement[bool] | None = None, columns: Callable[[Any], list[Any]] = _stored_columns
) -> AnySelect:
    """The mod ``id`` and, recursively, all that it requires: the GUID and the ``columns`` of a mod.

    All columns but ``guid`` are NULL for missing mods. ``start`` selects other mods to start from.
    """
    start = statements.IS_ASKED_FOR if start is None else start
    reach = select(PublicMod.guid.label("guid"), PublicMod.id.label("id")).where(start).cte("reach", recursive=True)
    requirement = PublicRequirement.__table__
    required, edges = _looked_up(reach, requirement, requirement.c.mod_id == reach.c.id, dialect)
    required_id = select(PublicMod.id).where(PublicMod.guid == required.c.guid).correlate(required).scalar_subquery()
    reach = reach.union(select(required.c.guid, required_id).select_from(edges))
    public_mod = PublicMod.__table__
    mod, mods = _looked_up(reach, public_mod, public_mod.c.id == reach.c.id, dialect, outer=True)
    return select(reach.c.guid, *columns(mod.c)).select_from(mods)


def chains_statement(dialect: str, columns: Callable[[Any], list[Any]] = _stored_columns) -> AnySelect:
    """The same of the mods ``guids``."""
    return chain_statement(dialect, GUID_IS_LISTED, columns)


def _looked_up(source: Any, target: Any, matches: Any, dialect: str, *, outer: bool = False) -> tuple[Any, Any]:
    """Return (the rows of ``target``, ``source`` joined with them): looked up one by one, by an index.

    In a join PostgreSQL would hash the whole table; OFFSET prevents that it turns the lookup into a join.
    """
    if dialect == "sqlite":
        return target, source.join(target, matches, isouter=outer)
    rows = select(target).where(matches).offset(literal_column("0")).lateral()
    return rows, source.join(rows, true(), isouter=outer)


_MEASURED: Final = PreparedQuery(select(PublicMod.guid, *_stored_columns(PublicMod)).where(GUID_IS_LISTED))
"""The published mods ``guids``."""
_CHAIN: Final = PreparedQuery(chain_statement)
_CHAINS: Final = PreparedQuery(chains_statement)
_DOCUMENTS: Final = PreparedQuery(
    select(PublicMod.id, _serial(PublicMod.guid), PublicMod.document).where(PublicMod.id.in_(json_ids("ids")))
)
"""(id, serial, document) of the published mods ``ids``."""
_NOTES_CHARACTERS: Final = 500_000
"""Characters of the changelog entries that are read at once, of all mods together."""


class PublicMods:
    """See :class:`modhub.plugins.services.IPublicMods`."""

    def __init__(self, reader: RawQueryExecutor) -> None:
        self.reader = reader

    def mod(self, mod_id: int | None) -> ComposedBody | None:
        """Return the body of ``GET /api/modhub/{id}``; None if it is not published."""
        chain = self.chain(mod_id)
        return None if chain is None else compose_chain(self, chain)

    def read(self, guid: str) -> ComposedBody | None:
        """One statement more than any other read of the mod: its id."""
        rows = self.reader.rows(statements.ID, guid=guid)
        return self.mod(rows[0][0]) if rows else None

    def measure(self, guids: Collection[str]) -> dict[str, StoredDocument]:
        """Return what is stored of these mods, by GUID; one statement."""
        return _by_guid(self._rows_of(_MEASURED, guids))

    def chain(self, mod_id: int | None) -> InstallChain | None:
        """Return the installation order of a mod; None if it is not published. One statement."""
        stored = {} if mod_id is None else _by_guid(self.reader.rows(_CHAIN, id=mod_id))
        if not stored:
            return None
        root = next(guid for guid, mod in stored.items() if mod.id == mod_id)
        order, missing = install_order([root], {guid: mod.requires.split() for guid, mod in stored.items()})
        return InstallChain([stored[guid] for guid in order], missing)

    def documents(self, stored: Iterable[StoredDocument]) -> Iterator[bytes]:
        """Yield the JSON of these mods in this order; a statement for each portion of them.

        Raises `ContentChanged` where a mod is not in the state that it was measured in.
        """
        for portion in by_size(stored, lambda mod: mod.size):
            rows = self.reader.rows(_DOCUMENTS, ids=_array([mod.id for mod in portion]))
            documents = {(row[0], row[1]): bytes(row[2]) for row in rows}
            states = [(mod.id, mod.serial) for mod in portion]
            if not documents.keys() >= set(states):
                raise ContentChanged
            yield from map(documents.__getitem__, states)

    def get_documents(self, guids: Collection[str]) -> dict[str, bytes]:
        """Return the documents of public mods by their GUIDs, in one statement."""
        return {guid: bytes(document) for guid, document in self._rows_of(statements.FEW_DOCUMENTS, guids)}

    def get_files(self, guids: Collection[str]) -> dict[str, PublicFile]:
        """Return the code files of public mods by their GUIDs, in one statement."""
        return {file.guid: file for file in map(_public_file, self._rows_of(statements.FILES, guids))}

    def get_notes(self, mod_ids: Collection[int], most: int) -> dict[int, list[PublicNote]]:
        """Return the newest changelog entries of mods by their ids, in one statement."""
        notes: dict[int, list[PublicNote]] = defaultdict(list)
        values = {"ids": _array(mod_ids), "most": most, "characters": _NOTES_CHARACTERS}
        for row in self.reader.rows(statements.NEWEST_NOTES, **values):
            notes[row[0]].append(PublicNote(row[1], row[2], note_of(row[3:])))
        return notes

    def get_related(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods by their GUIDs, in three statements."""
        return self._related(_MEASURED, guids)

    def get_chains(self, guids: Collection[str]) -> dict[str, RelatedMod]:
        """Return these mods and all that they require, by their GUIDs, in three statements."""
        return self._related(_CHAINS, guids)

    def _related(self, measured: PreparedQuery, guids: Collection[str]) -> dict[str, RelatedMod]:
        for _ in range(MAX_COMPOSITIONS):
            stored = _by_guid(self._rows_of(measured, guids))
            # Between the two others: a file that is replaced meanwhile is a change too.
            files = self.get_files(stored)
            try:
                pairs = zip(stored.values(), self.documents(stored.values()), strict=True)
                return {mod.guid: _related(mod, document, files.get(mod.guid)) for mod, document in pairs}
            except ContentChanged:
                continue
        raise busy()

    def order(self, guids: Iterable[str], requires: dict[str, list[str]]) -> tuple[list[str], list[str]]:
        """Return the order of installation and the GUIDs that are missing, without a statement."""
        return install_order(guids, requires)

    def get_page(self, after: int, until: int, size: int) -> list[tuple[int, bytes]]:
        """Return (serial, document) of the next mods by serial, in one statement."""
        rows = self.reader.rows(statements.SERIALS, after=after, until=until, size=size)
        return [(serial, bytes(document)) for serial, document in rows]

    def _rows_of(self, statement: PreparedQuery, guids: Collection[str]) -> list[Row]:
        return self.reader.rows(statement, guids=_array(guids))


def _array(items: Collection[Any]) -> str:
    return encode(list(items)).decode()


def _public_file(row: Row) -> PublicFile:
    asset_id, uploaded_at = row[-2:]
    return PublicFile._make((*row[:-2], f"/Modhub/file/{asset_id}", iso(from_micros(uploaded_at))))


def _related(mod: StoredDocument, document: bytes, file: PublicFile | None) -> RelatedMod:
    fields = decode_mod(document)
    file = file or PublicFile(mod.guid, mod.id, fields.title, fields.version, "", 0, "", "", "")
    return RelatedMod(file, mod.requires.split(), fields.conflicts_with)


def _by_guid(rows: list[Row]) -> dict[str, StoredDocument]:
    return {row[0]: StoredDocument(*row) for row in rows if row[1] is not None}


_SHAPE: Final = 1
"""To be raised when `compose_chain` puts documents together in another way: the same states are other bytes then."""


def compose_chain(reader: PublicMods, chain: InstallChain) -> ComposedBody:
    """The body of ``GET /api/modhub/{id}``: the mod with ``install`` and ``missing`` (C-READ-1)."""
    root, missing = chain.install[-1], encode(chain.missing)
    middle, end = b',"install":[', b'],"missing":' + missing + b"}"
    size = root.size - 1 + len(middle) + sum(mod.size for mod in chain.install) + len(chain.install) - 1 + len(end)

    def parts() -> Iterator[bytes]:
        documents = reader.documents([root, *chain.install])
        yield next(documents)[:-1] + middle
        yield next(documents)
        for document in documents:
            yield b"," + document
        yield end

    return ComposedBody(_etag(chain.install, missing), size, parts, root.links)


def _etag(stored: Iterable[StoredDocument], rest: bytes) -> str:
    """A strong tag: the states of the documents, in their order, say what the bytes are."""
    states = [_SHAPE, *((mod.feed, mod.guid, mod.serial) for mod in stored)]
    return f'"{hashlib.sha256(encode(states) + rest).hexdigest()}"'


_CHARACTER_BYTES: Final = 4
_ENTRY_BYTES: Final = 200
"""At most what an entry takes besides its texts."""

_NOTE_SHAPE: Final = 1
"""To be raised when an entry's JSON changes: the same states are other bytes then."""


def compose_changelog(executor: RawQueryExecutor, mod_id: int, rows: list[Row]) -> ComposedBody:
    """The body of ``GET /api/modhub/{id}/changelog``; ``rows`` are those of :data:`.statements.NOTE_STATES`."""
    measured = [row for row in rows if row[0] is not None]
    states = [(row[0], row[1]) for row in measured]

    def parts() -> Iterator[bytes]:
        yield b'{"count":%d,"notes":[' % len(states)
        done = 0
        for portion in by_size(measured, _most_bytes):
            read = executor.rows(statements.NOTES, id=mod_id, newest=portion[0][0], oldest=portion[-1][0])
            if [(row[0], row[4]) for row in read] != states[done : done + len(portion)]:
                raise ContentChanged
            yield b"," * (done > 0) + b",".join([encode(note_of(row)) for row in read])
            done += len(portion)
        yield b"]}"

    tag = hashlib.sha256(encode([_NOTE_SHAPE, mod_id, states])).hexdigest()
    return ComposedBody(f'"{tag}"', sum(map(_most_bytes, measured)), parts, is_exact=False)


def _most_bytes(row: Row) -> int:
    characters: int = row[2]
    return characters * _CHARACTER_BYTES + _ENTRY_BYTES
