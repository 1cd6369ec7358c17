"""``python -m bench.million [--mods N] [--json FILE]``: lists and searches of a million mods on SQLite, not kept."""

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from bench import searches, servers
from bench.measuring import HEADINGS, machine, stay_on_the_clients_core, table
from modhub.catalogue.models import PublicCounter
from modhub.db import Databases
from modhub.service_registry import find_service

SEEDED: Final = 100_000
SECONDS: Final = 5.0
COPIES: Final = (
    "INSERT INTO core_public_mod (id, guid, owner, score, updated_at, requires, document, links) "
    "SELECT id + :shift, printf('ffffffff-0000-0000-0000-%012x', id + :shift), owner, score, "
    "updated_at + :shift * 1000000, '', document, links FROM core_public_mod WHERE id <= :seeded",
    "INSERT INTO core_public_game (mod_id, folded, updated_at) "
    "SELECT mod_id + :shift, folded, updated_at + :shift * 1000000 FROM core_public_game WHERE mod_id <= :seeded",
    "INSERT INTO core_public_text (mod_id, updated_at, text) "
    "SELECT mod_id + :shift, updated_at + :shift * 1000000, text FROM core_public_text WHERE mod_id <= :seeded",
)
"""Copies of the public rows alone: twenty times as fast as publishing so many mods."""


def fill(folder: Path, url: str, mods: int) -> None:
    """Publish some mods, and copy what is public of them up to ``mods``."""
    seeded = min(mods, SEEDED)
    servers.prepare_and_seed(folder, url, seeded)
    databases = find_service(servers.prepare(folder / "seed.ini"), Databases)
    for shift in range(seeded, mods, seeded):
        with databases.write_engine.begin() as connection:
            for statement in COPIES:
                connection.exec_driver_sql(statement, {"shift": shift, "seeded": seeded})
    with databases.write_engine.begin() as connection:
        connection.execute(PublicCounter.__table__.update().values(value=mods))
        connection.exec_driver_sql("ANALYZE")
    databases.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.million", description=__doc__)
    parser.add_argument("--mods", type=int, default=1_000_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    facts: dict[str, Any] = machine() | {"mods": arguments.mods}
    with tempfile.TemporaryDirectory(prefix="modhub-bench-") as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/million.sqlite"
        fill(folder, url, arguments.mods)
        stay_on_the_clients_core()
        rows = searches.searches(folder, "sqlite", url, SECONDS, searches.GOAL_MS)
    sys.stdout.write("\n".join(f"{key}: {value}" for key, value in facts.items()) + "\n\n")
    sys.stdout.write(table(HEADINGS, [row.cells() for row in rows]))
    if arguments.json:
        arguments.json.write_text(json.dumps({"facts": facts, "rows": [asdict(row) for row in rows]}, indent=1))


if __name__ == "__main__":
    main()
