"""The body of a mod's changelog, which has as many entries as the mod had versions: measured, then made."""

import hashlib
from collections.abc import Iterator
from typing import Final

from modhub.base.composed_body import ComposedBody, ContentChanged, by_size
from modhub.catalogue.queries import note_of
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.web.payload import encode

_CHARACTER_BYTES: Final = 4
_ENTRY_BYTES: Final = 200
"""At most what an entry takes besides its texts."""

_SHAPE: Final = 1
"""To be raised when an entry's JSON changes: the same states are other bytes then."""


def compose_changelog(executor: RawQueryExecutor, entries: PreparedQuery, mod_id: int, rows: list[Row]) -> ComposedBody:
    """The body of ``GET /api/modhub/{id}/changelog``.

    ``rows`` are those of :func:`modhub.catalogue.queries.note_states_statement`, ``entries`` reads what they measure.
    """
    measured = [row for row in rows if row[0] is not None]
    states = [(row[0], row[1]) for row in measured]

    def parts() -> Iterator[bytes]:
        yield b'{"count":%d,"notes":[' % len(states)
        done = 0
        for portion in by_size(measured, _most_bytes):
            read = executor.rows(entries, id=mod_id, newest=portion[0][0], oldest=portion[-1][0])
            if [(row[0], row[4]) for row in read] != states[done : done + len(portion)]:
                raise ContentChanged
            yield b"," * (done > 0) + b",".join([encode(note_of(row)) for row in read])
            done += len(portion)
        yield b"]}"

    tag = hashlib.sha256(encode([_SHAPE, mod_id, states])).hexdigest()
    return ComposedBody(f'"{tag}"', sum(map(_most_bytes, measured)), parts, is_exact=False)


def _most_bytes(row: Row) -> int:
    characters: int = row[2]
    return characters * _CHARACTER_BYTES + _ENTRY_BYTES
