"""Reads the stored JSON of published mods: first how large it is and in which state, then the JSON itself, one by one.

So an answer with many mods is known before it is made, and never lies in memory as a whole (T-D20).
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from modhub.base.composed_body import ComposedBody, ContentChanged, by_size
from modhub.catalogue import document_queries
from modhub.catalogue.chains import InstallChain, install_order
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.services import StoredDocument
from modhub.web.payload import encode

_SHAPE: Final = 1
"""To be raised when `compose_chain` puts documents together in another way: the same states are other bytes then."""


class DocumentReader:
    """Reads stored documents; one per application."""

    def __init__(self, executor: RawQueryExecutor) -> None:
        self._executor = executor
        dialect = executor.dialect
        self._measured = PreparedQuery(document_queries.measured_statement(dialect))
        self._chain = PreparedQuery(document_queries.chain_statement(dialect))
        self._chains = PreparedQuery(document_queries.chains_statement(dialect))
        self._documents = PreparedQuery(document_queries.documents_statement(dialect))

    def measure(self, guids: Collection[str]) -> dict[str, StoredDocument]:
        """Return what is stored of these mods, by GUID; one statement."""
        return _by_guid(self._rows_of(self._measured, guids))

    def chains(self, guids: Collection[str]) -> dict[str, StoredDocument]:
        """Return the same of these mods and all that they require; one statement."""
        return _by_guid(self._rows_of(self._chains, guids))

    def chain(self, mod_id: int | None) -> InstallChain | None:
        """Return the installation order of a mod; None if it is not published. One statement."""
        stored = {} if mod_id is None else _by_guid(self._executor.rows(self._chain, id=mod_id))
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
            rows = self._executor.rows(self._documents, ids=encode([mod.id for mod in portion]).decode())
            if [tuple(row[:2]) for row in rows] != [(mod.id, mod.serial) for mod in portion]:
                raise ContentChanged
            yield from (bytes(row[2]) for row in rows)

    def _rows_of(self, statement: PreparedQuery, guids: Collection[str]) -> list[Row]:
        return self._executor.rows(statement, guids=encode(list(guids)).decode())


def _by_guid(rows: list[Row]) -> dict[str, StoredDocument]:
    return {row[0]: StoredDocument(*row) for row in rows if row[1] is not None}


def compose_chain(reader: DocumentReader, chain: InstallChain) -> ComposedBody:
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
