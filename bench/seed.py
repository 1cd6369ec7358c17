"""Fills a database with published mods, as the service itself would write them."""

import random
import uuid
from datetime import timedelta
from itertools import count
from typing import Any

from sqlalchemy import insert, update

from modhub.blobs.models import StoredBlob
from modhub.catalogue.copies import copies_of
from modhub.catalogue.models import Asset, Mod, PublicCounter
from modhub.db import now
from modhub.db.changes import MOD, Generation, PublicChange, What

WORDS = [
    "amber",
    "basalt",
    "calm",
    "delta",
    "echo",
    "fjord",
    "granite",
    "harbour",
    "indigo",
    "juniper",
    "kestrel",
    "lantern",
    "meadow",
    "nimbus",
    "opal",
]
GAMES = ["Portal", "Portal 2", "Café Racer", "Größe", *(f"Game {n}" for n in range(200))]
CHAIN = 1000
BATCH = 5000


def _mod(number: int, rng: random.Random, moment: Any, requires: list[str]) -> Mod:
    words = rng.sample(WORDS, 3)
    blob = StoredBlob(id=number, key=f"{number:032x}", size=20_000_000, sha256="0" * 64, created_at=moment)
    code = Asset(id=number, mod_id=number, kind="code", name=f"{words[0]}.zip", content_type="application/zip")
    code.blob, code.blob_id, code.stored_at = blob, number, moment
    return Mod(
        id=number,
        guid=str(uuid.UUID(int=number)),
        owner=1 + number % 500,
        title=f"{' '.join(words).title()} {number}",
        description="<p>" + " ".join(rng.choices(WORDS, k=70)) + "</p>",
        version="1.0",
        games=rng.sample(GAMES, 2),
        requires=requires,
        conflicts=[],
        published=True,
        published_at=moment,
        ups=rng.randrange(50),
        downs=rng.randrange(10),
        created_at=moment,
        updated_at=moment,
        assets=[code],
    )


def seed(databases: Any, mods: int) -> None:
    """``mods`` published mods; the first thousand require each other in a chain."""
    rng = random.Random(7)
    start = now() - timedelta(days=400)
    moments = (start + timedelta(seconds=step) for step in count())
    for first in range(1, mods + 1, BATCH):
        rows: dict[Any, list[dict[str, Any]]] = {StoredBlob: [], Mod: [], Asset: []}
        for number in range(first, min(first + BATCH, mods + 1)):
            requires = [str(uuid.UUID(int=number + 1))] if number < min(CHAIN, mods) else []
            mod = _mod(number, rng, next(moments), requires)
            change = PublicChange(serial=number, kind=MOD, key=mod.guid, mod_id=number, what=What.PUBLISHED.value)
            change.at = mod.updated_at
            for row in (mod.assets[0].blob, mod, mod.assets[0], *copies_of(mod), change):
                columns = {c.key: getattr(row, c.key) for c in type(row).__table__.columns}
                rows.setdefault(type(row), []).append(columns)
        with databases.write_engine.begin() as connection:
            for model, values in rows.items():
                connection.execute(insert(model.__table__), values)
    with databases.write_engine.begin() as connection:
        connection.execute(update(PublicCounter).values(value=mods))
        connection.execute(update(Generation).values(serial=mods))
        if databases.dialect == "postgresql":
            # Inserting explicit ids does not advance the sequences.
            for table in ("core_blob", "core_mod", "core_asset"):
                connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {mods})")
        connection.exec_driver_sql("ANALYZE")
