"""The PostgreSQL server for tests of the wheel that a bare machine uses: databases are apart."""

import tempfile
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from modhub_testing.postgres import postgres_server
from modhub_testing.postgres_binaries import copy_wheel_binaries

pytestmark = [pytest.mark.long, pytest.mark.process]


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            results = [connection.execute(text(statement)) for statement in statements]
            return [tuple(row) for row in results[-1]] if results[-1].returns_rows else []
    finally:
        engine.dispose()


def test_databases_are_fresh_and_apart() -> None:
    with tempfile.TemporaryDirectory(prefix="mhpg-test-") as folder:
        Path(folder).chmod(0o755)
        with postgres_server(copy_wheel_binaries(Path(folder))) as server:
            first, second = server.new_database(), server.new_database()
            run(first, "create table thing (name text)", "insert into thing values ('ünï')")
            assert run(first, "select name from thing") == [("ünï",)]
            assert run(second, "select count(*) from information_schema.tables where table_schema = 'public'") == [(0,)]
