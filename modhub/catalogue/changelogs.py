"""The body of a mod's changelog, which has as many entries as the mod had versions: measured, then made."""

import hashlib
from collections.abc import Iterator
from typing import Final

from modhub.base.composed_body import ComposedBody, ContentChanged
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
    states = [(row[0], row[1]) for row in rows if row[0] is not None]
    characters = sum(row[2] for row in rows if row[0] is not None)

    def parts() -> Iterator[bytes]:
        yield b'{"count":%d,"notes":[' % len(states)
        read = 0
        for row in executor.stream(entries, id=mod_id) if states else ():
            if states[read : read + 1] != [(row[0], row[4])]:
                raise ContentChanged
            yield b"," * (read > 0) + encode(note_of(row))
            read += 1
        if read < len(states):
            raise ContentChanged
        yield b"]}"

    tag = hashlib.sha256(encode([_SHAPE, mod_id, states])).hexdigest()
    size = characters * _CHARACTER_BYTES + len(states) * _ENTRY_BYTES
    return ComposedBody(f'"{tag}"', size, parts, is_exact=False)
