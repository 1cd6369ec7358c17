"""The body of a mod's changelog, which has as many entries as the mod had versions: measured, then made."""

import hashlib
from collections.abc import Iterator
from typing import Final

from modhub.catalogue import queries
from modhub.catalogue.read_service import note_of
from modhub.db.raw_queries import RawQueryExecutor
from modhub.http.payload import encode
from modhub.http.responses import ComposedBody, ContentChanged

_CHARACTER_BYTES: Final = 4
_ENTRY_BYTES: Final = 200
"""At most what an entry takes besides its texts."""

_SHAPE: Final = 1
"""To be raised when an entry's JSON changes: the same states are other bytes then."""


class ChangelogReader:
    """Reads the changelogs of published mods; one per application."""

    def __init__(self, executor: RawQueryExecutor) -> None:
        self._executor = executor
        self._states = executor.prepare(queries.note_states_statement())
        self._notes = executor.prepare(queries.notes_statement())

    def body(self, mod_id: int | None) -> ComposedBody | None:
        """Return the body of ``GET /api/modhub/{id}/changelog``; None if the mod is not published. Two statements."""
        rows = [] if mod_id is None else self._executor.rows(self._states, id=mod_id)
        if not rows:
            return None
        states = [(row[0], row[1]) for row in rows if row[0] is not None]
        characters = sum(row[2] for row in rows if row[0] is not None)

        def parts() -> Iterator[bytes]:
            yield b'{"count":%d,"notes":[' % len(states)
            read = 0
            for row in self._executor.stream(self._notes, id=mod_id) if states else ():
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
