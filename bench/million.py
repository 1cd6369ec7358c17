"""Lists and searches of a million mods, nothing kept (``python -m bench --million``)."""

from pathlib import Path
from typing import Final

from sqlalchemy import text, update

from bench import reads, servers
from bench.measuring import Row, on_all_cores
from modhub.base.service_registry import find_service
from modhub.catalogue.models import PublicCounter
from modhub.db import Databases
from modhub_testing.postgres import postgres_server

MODS: Final = 1_000_000
SEEDED: Final = 100_000
SECONDS: Final = 5.0
POSTGRES: Final = {"shared_buffers": "128MB"}
"""Its own default; the tests' server has less."""
GUIDS: Final = {
    "sqlite": "printf('ffffffff-0000-0000-0000-%012x', id + :shift)",
    "postgresql": "'ffffffff-0000-0000-0000-' || lpad(to_hex(id + :shift), 12, '0')",
}
COPIES: Final = (
    "INSERT INTO core_public_mod (id, guid, owner, score, updated_at, requires, document, links) "
    "SELECT id + :shift, {guid}, owner, score, updated_at + :later, '', document, links "
    "FROM core_public_mod WHERE id <= :seeded",
    "INSERT INTO core_public_game (mod_id, folded, updated_at) "
    "SELECT mod_id + :shift, folded, updated_at + :later FROM core_public_game WHERE mod_id <= :seeded",
    "INSERT INTO core_public_text (mod_id, updated_at, text) "
    "SELECT mod_id + :shift, updated_at + :later, text FROM core_public_text WHERE mod_id <= :seeded",
)
"""Copies of the public rows alone: twenty times as fast as publishing so many mods."""


def fill(folder: Path, url: str, mods: int) -> None:
    """Publish some mods, and copy what is public of them up to ``mods``."""
    seeded = min(mods, SEEDED)
    servers.prepare_and_seed(folder, url, seeded)
    databases = find_service(servers.prepare(folder / "seed.ini"), Databases)
    for shift in range(seeded, mods, seeded):
        values = {"shift": shift, "later": shift * 1_000_000, "seeded": seeded}
        with databases.write_engine.begin() as connection:
            for statement in COPIES:
                connection.execute(text(statement.format(guid=GUIDS[databases.dialect])), values)
    with databases.write_engine.begin() as connection:
        connection.execute(update(PublicCounter).values(value=mods))
    with databases.write_engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        # The autovacuum of a server does it by itself; the tests' server has none.
        connection.exec_driver_sql("VACUUM ANALYZE" if databases.dialect == "postgresql" else "ANALYZE")
    databases.dispose()


def measure(folder: Path, mods: int) -> list[Row]:
    """Both databases, one after the other: each has the machine to itself."""
    rows = []
    with postgres_server(settings=POSTGRES) as server:
        for database, url in (("sqlite", f"sqlite:///{folder}/million.sqlite"), ("postgresql", server.new_database())):
            with on_all_cores():
                fill(folder, url, mods)
            rows += reads.nothing_kept(folder, database, url, SECONDS, mods)
    return rows
