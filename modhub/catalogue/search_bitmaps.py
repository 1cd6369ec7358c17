"""PostgreSQL's bitmaps of parts of words that many mods have: which mods those are, one bit for each.

Searches of such parts are counted in them (`modhub.catalogue.queries`). They may lag behind: a trigger records each
text that changes in the same transaction, and searches read what is recorded from the texts themselves. So totals are
exact at any moment, and writers never wait for each other. A thread of the service takes the recorded changes into the
bitmaps (docs/adr/042-bitmaps-of-parts.md).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Final

from sqlalchemy import text
from sqlalchemy.orm import Session

from modhub.db import Databases
from modhub.worker_threads import WorkerThread

log = logging.getLogger(__name__)
BLOCK_MODS: Final = 8192
"""Mods of one row, by id."""
MIN_MODS: Final = 20_000
"""With fewer mods reading the texts takes a few milliseconds."""
COMMON: Final = 0.01
"""The share of mods that have a common part: the index of trigrams counts fewer in the time of the goal."""
MAX_PARTS: Final = 2000
LONGEST: Final = 16
SAMPLED: Final = 5000
"""Mods that are read to choose the parts."""
ENOUGH_CHANGES: Final = 1000
"""Changes that are worth taking in; a search takes about two microseconds for each."""
BITMAP_SECONDS: Final = 60.0
AFTER_ERROR_SECONDS: Final = 600.0
"""After an error: else a build for which the disk has no room would be tried all the time."""
GIVE_UP_SECONDS: Final = 5.0
"""How long the end of a process waits: PostgreSQL rolls back what was not committed, and another process does it."""
MERGED_BLOCKS: Final = 16
"""Blocks of one transaction."""
_ADVISORY_LOCK: Final = 0x6D6F646875620D
BeginTransaction = Callable[[], AbstractContextManager[Session]]

_ZEROS: Final = f"CAST(repeat('0', {BLOCK_MODS}) AS bit({BLOCK_MODS}))"


def _bits_of(mods: str) -> str:
    """The SQL for an aggregate: the bits of the mods."""
    return f"bit_or(set_bit({_ZEROS}, CAST({mods}.mod_id % {BLOCK_MODS} AS int), 1))"


_TRY_LOCK: Final = text("SELECT pg_try_advisory_xact_lock(:key)").bindparams(key=_ADVISORY_LOCK)
_WAIT_FOR_LOCK: Final = text("SELECT pg_advisory_xact_lock(:key)").bindparams(key=_ADVISORY_LOCK)
_CHOOSE: Final = text(f"""
WITH sampled AS MATERIALIZED (
    SELECT mod_id, text FROM core_public_text
    WHERE mod_id % (SELECT greatest(1, count(*) / {SAMPLED}) FROM core_public_text) = 0
), parts AS (
    SELECT DISTINCT mod_id, substr(word, start, size) AS part
    FROM sampled, regexp_split_to_table(text, '[ \\n]') AS word, generate_series(1, length(word)) AS start,
        generate_series(1, least({LONGEST}, length(word) - start + 1)) AS size
)
INSERT INTO fts_core_bitmap_part (part)
SELECT part FROM parts GROUP BY part HAVING count(*) >= :common * (SELECT count(*) FROM sampled)
ORDER BY count(*) DESC LIMIT {MAX_PARTS}
""")  # noqa: S608 - only constants
_BLOCKS: Final = text(f"SELECT DISTINCT mod_id / {BLOCK_MODS} AS block FROM core_public_text ORDER BY block")  # noqa: S608
_CHANGED_BLOCKS: Final = text(
    f"SELECT DISTINCT mod_id / {BLOCK_MODS} AS block FROM fts_core_bitmap_change ORDER BY block"  # noqa: S608
)
# Of mods from ``first`` to ``end``, and of those whose change is recorded. One statement sees one state of everything:
# a change that it does not see stays recorded.
_MERGE: Final = text(f"""
WITH taken AS (
    DELETE FROM fts_core_bitmap_change WHERE mod_id / {BLOCK_MODS} = ANY(:blocks) RETURNING mod_id
), changed AS MATERIALIZED (
    SELECT mod_id FROM taken UNION SELECT mod_id FROM core_public_text WHERE mod_id >= :first AND mod_id < :end
), changed_blocks AS MATERIALIZED (
    SELECT mod_id / {BLOCK_MODS} AS block, {_bits_of("changed")} AS mods FROM changed GROUP BY 1
), found AS MATERIALIZED (
    SELECT part, mods.mod_id / {BLOCK_MODS} AS block, {_bits_of("mods")} AS hits
    FROM changed JOIN core_public_text AS mods ON mods.mod_id = changed.mod_id
    JOIN fts_core_bitmap_part ON strpos(mods.text, part) > 0
    GROUP BY 1, 2
)
INSERT INTO fts_core_bitmap AS kept (part, block, hits)
SELECT part, block, coalesce(before.hits & ~mods, {_ZEROS}) | coalesce(found.hits, {_ZEROS})
FROM changed_blocks CROSS JOIN fts_core_bitmap_part
LEFT JOIN fts_core_bitmap AS before USING (part, block) LEFT JOIN found USING (part, block)
WHERE before.hits IS NOT NULL OR found.hits IS NOT NULL
ON CONFLICT (part, block) DO UPDATE SET hits = excluded.hits WHERE kept.hits <> excluded.hits
""")  # noqa: S608 - only constants
_DAMAGED: Final = text(f"""
WITH recorded AS MATERIALIZED (
    SELECT {_bits_of("change")} AS mods FROM fts_core_bitmap_change AS change WHERE mod_id / {BLOCK_MODS} = :block
), found AS MATERIALIZED (
    SELECT part, {_bits_of("mods")} AS hits
    FROM core_public_text AS mods JOIN fts_core_bitmap_part ON strpos(mods.text, part) > 0
    WHERE mods.mod_id >= :block * {BLOCK_MODS} AND mods.mod_id < (:block + 1) * {BLOCK_MODS}
    GROUP BY part
)
SELECT part FROM fts_core_bitmap_part
LEFT JOIN (SELECT part, hits FROM fts_core_bitmap WHERE block = :block) AS kept USING (part)
LEFT JOIN found USING (part) CROSS JOIN recorded
WHERE bit_count((coalesce(kept.hits, {_ZEROS}) # coalesce(found.hits, {_ZEROS}))
    & ~coalesce(recorded.mods, {_ZEROS})) > 0
LIMIT 1
""")  # noqa: S608 - only constants
_ALL_BLOCKS: Final = text(f"""
SELECT mod_id / {BLOCK_MODS} AS block FROM core_public_text UNION SELECT block FROM fts_core_bitmap ORDER BY block
""")  # noqa: S608 - only constants
_HAS_PARTS: Final = text("SELECT EXISTS (SELECT 1 FROM fts_core_bitmap_part)")
_CHANGES: Final = text("SELECT count(*) FROM (SELECT 1 FROM fts_core_bitmap_change LIMIT :most) AS changes")
_MODS: Final = text("SELECT count(*) FROM (SELECT 1 FROM core_public_text LIMIT :most) AS mods")


def _is_postgresql(session: Session) -> bool:
    return session.get_bind().dialect.name == "postgresql"


def _lock(session: Session, *, waits: bool = False) -> bool:
    """Whether this process may write. In a statement of its own: the next sees all that the last owner did."""
    session.execute(text("SET LOCAL statement_timeout = 0"))
    if not waits:
        return bool(session.scalar(_TRY_LOCK))
    session.execute(text("SET LOCAL lock_timeout = 0"))
    session.execute(_WAIT_FOR_LOCK)
    return True


def build_bitmaps(
    begin: BeginTransaction,
    *,
    min_mods: int | None = None,
    waits: bool = False,
    is_stopping: Callable[[], bool] = lambda: False,
) -> bool:
    """Choose the parts and make their bitmaps, in one transaction; False if that was not done.

    With fewer than ``min_mods`` mods there are none (`MIN_MODS`). If another process is at it, that is waited for if
    ``waits``. Nothing is changed if ``is_stopping`` becomes true.
    """
    needed = MIN_MODS if min_mods is None else min_mods
    with begin() as session:
        if not _is_postgresql(session):
            return True
        if not _lock(session, waits=waits):
            return False
        for table in ("fts_core_bitmap", "fts_core_bitmap_part"):
            session.execute(text(f"DELETE FROM {table}"))  # noqa: S608
        if (session.scalar(_MODS, {"most": needed}) or 0) < needed:
            # Nothing is counted by bitmaps, so changes need not be known. Later ones are recorded again.
            session.execute(text("DELETE FROM fts_core_bitmap_change"))
            return True
        session.execute(_CHOOSE, {"common": COMMON})
        for block in session.scalars(_BLOCKS).all():
            if is_stopping():
                session.rollback()
                return False
            first = block * BLOCK_MODS
            session.execute(_MERGE, {"blocks": [block], "first": first, "end": first + BLOCK_MODS})
        return True


def merge_changes(begin: BeginTransaction, is_stopping: Callable[[], bool] = lambda: False) -> bool:
    """Take recorded changes into the bitmaps; False if another process is at it, or ``is_stopping`` becomes true."""
    with begin() as session:
        blocks = session.scalars(_CHANGED_BLOCKS).all()
    for first in range(0, len(blocks), MERGED_BLOCKS):
        with begin() as session:
            if is_stopping() or not _lock(session):
                return False
            session.execute(_MERGE, {"blocks": list(blocks[first : first + MERGED_BLOCKS]), "first": 0, "end": 0})
    return True


def bitmap_damage(session: Session) -> Iterator[str]:
    """Yield a sentence for each block that is wrong. For ``modhub-admin verify``; ``rebuild`` makes all again."""
    if not _is_postgresql(session) or not session.scalar(_HAS_PARTS):
        return
    for block in session.scalars(_ALL_BLOCKS).all():
        part = session.scalar(_DAMAGED, {"block": block})
        if part is not None:
            mods = f"mods {block * BLOCK_MODS} to {(block + 1) * BLOCK_MODS - 1}"
            yield f"Searches of {part!r} count {mods} wrongly: run modhub-admin rebuild."


class BitmapWorker:
    """Keeps the bitmaps up to date, in a thread of each process that serves; one process works at a time."""

    def __init__(self, databases: Databases) -> None:
        self._databases = databases
        self._thread = WorkerThread("modhub search", self._run, stop_seconds=GIVE_UP_SECONDS)

    def start(self) -> None:
        """Start the thread; SQLite has an index instead."""
        if self._databases.dialect == "postgresql":
            self._thread.start(BITMAP_SECONDS)

    def stop(self) -> None:
        """Stop the thread; what it is making is given up."""
        self._thread.stop()

    def _run(self, _wait: float, *, clean_up: bool) -> float:  # noqa: ARG002
        try:
            self.run_once()
        except Exception as error:  # noqa: BLE001 - the thread must survive any error
            if not self._thread.is_stopping:
                log.warning("the bitmaps for searches could not be brought up to date: %s", type(error).__name__)
            return AFTER_ERROR_SECONDS
        return BITMAP_SECONDS

    def run_once(self) -> None:
        """Build what is missing, or take in the changes if there are enough of them."""
        with self._databases.readonly_session() as session:
            has_parts: Any = session.scalar(_HAS_PARTS)
            mods = session.scalar(_MODS, {"most": MIN_MODS}) or 0
            changes = session.scalar(_CHANGES, {"most": ENOUGH_CHANGES}) or 0
        begin: Any = self._databases.write_session.begin
        if has_parts:
            if changes >= ENOUGH_CHANGES:
                merge_changes(begin, self._is_stopping)
        elif mods >= MIN_MODS or changes >= ENOUGH_CHANGES:
            build_bitmaps(begin, is_stopping=self._is_stopping)

    def _is_stopping(self) -> bool:
        return self._thread.is_stopping
