"""The PostgreSQL server for tests: fresh databases, cleanup, clear errors."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine, text

from modhub_testing.postgres import (
    POSTGRES_START_SECONDS,
    PostgresMissingError,
    PostgresServer,
    postgres_server,
)
from modhub_testing.postgres_binaries import copy_wheel_binaries, find_binaries

pytestmark = [pytest.mark.long, pytest.mark.process]


@pytest.fixture(scope="module", params=["found", "wheel"])
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer]:
    """The server of this machine, if it has one, and always the wheel's, which is what a bare machine uses."""
    with tempfile.TemporaryDirectory(prefix="mhpg-test-") as folder:
        Path(folder).chmod(0o755)
        binaries = copy_wheel_binaries(Path(folder)) if request.param == "wheel" else None
        with postgres_server(binaries) as running:
            yield running


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            results = [connection.execute(text(statement)) for statement in statements]
            return [tuple(row) for row in results[-1]] if results[-1].returns_rows else []
    finally:
        engine.dispose()


def until(condition, seconds: float = 90.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(condition())


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_databases_are_fresh_and_apart(server: PostgresServer) -> None:
    first, second = server.new_database(), server.new_database()
    run(first, "create table thing (name text)", "insert into thing values ('ünï')")
    assert run(first, "select name from thing") == [("ünï",)]
    assert run(second, "select count(*) from information_schema.tables where table_schema = 'public'") == [(0,)]


def test_server_is_quick_private_and_not_in_utc(server: PostgresServer) -> None:
    url = server.new_database()
    shown = {name: run(url, f"show {name}")[0][0] for name in ("fsync", "listen_addresses", "server_encoding")}
    assert shown == {"fsync": "off", "listen_addresses": "", "server_encoding": "UTF8"}
    assert run(url, "select extract(timezone from now())") == [(20700,)]
    assert run(url, "select current_setting('server_version')") == [(server.version,)]


def test_port_of_the_environment_is_no_matter(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")
    assert run(server.new_database(), "select 1") == [(1,)]


def test_template_is_built_once_and_copied(server: PostgresServer) -> None:
    built: list[str] = []

    def build(url: str) -> None:
        built.append(url)
        run(url, "create table stock (n int)", "insert into stock values (7)")

    server.add_template("stock", build)
    server.add_template("stock", build)
    first, second = server.new_database("stock"), server.new_database("stock")
    run(first, "update stock set n = 8")
    assert len(built) == 1
    assert [run(url, "select n from stock") for url in (first, second, server.new_database("stock"))] == [
        [(8,)],
        [(7,)],
        [(7,)],
    ]


def test_a_database_is_renewed_although_somebody_is_connected(server: PostgresServer) -> None:
    server.add_template("renewed", lambda url: run(url, "create table stock (n int)") and None)
    url = server.new_database("renewed")
    with closing(psycopg.connect(url.replace("+psycopg", ""))) as other:
        other.execute("insert into stock values (1)")
        other.commit()
        other.execute("lock table stock")
        server.renew_database(url, "renewed")
    assert run(url, "select count(*) from stock") == [(0,)]


def test_template_that_failed_to_build_can_be_built_again(server: PostgresServer) -> None:
    def broken(url: str) -> None:
        raise RuntimeError(url)

    with pytest.raises(RuntimeError):
        server.add_template("again", broken)
    server.add_template("again", lambda url: run(url, "create table made (n int)") and None)
    assert run(server.new_database("again"), "select count(*) from made") == [(0,)]


def test_database_is_dropped_although_somebody_is_connected(server: PostgresServer) -> None:
    with server.database() as url:
        name = url.partition("?")[0].rpartition("/")[2]
        left_open = psycopg.connect(host=str(server.base), port=5432, user="postgres", dbname=name)
    with pytest.raises(psycopg.OperationalError):
        left_open.execute("select 1")
    left_open.close()
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(host=str(server.base), port=5432, user="postgres", dbname=name)


def test_stop_ends_the_server_and_leaves_nothing() -> None:
    with postgres_server() as running:
        pid = int((running.base / "data" / "postmaster.pid").read_text().split()[0])
        assert alive(pid)
        running.stop()
        assert not alive(pid)
        running.stop()
    assert not running.base.exists()


KILLED = """
import importlib, os, signal, sys
postgres = importlib.import_module("modhub_testing.postgres")  # the plugin has a fixture of that name
if sys.argv[1] == "wheel":
    postgres.find_binaries = lambda: None
with postgres.postgres_server() as server:
    pid = (server.base / "data" / "postmaster.pid").read_text().split()[0]
    print(server.base, pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("binaries", ["found", "wheel"])
def test_killed_tests_take_their_server_along(binaries: str) -> None:
    command = [sys.executable, "-c", KILLED, binaries]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=200)
    base, pid = done.stdout.split()
    assert until(lambda: not alive(int(pid)))
    # The folder itself stays where the server's user may not write beside it (a TMPDIR of root's own): empty, then.
    assert until(lambda: not list(Path(base).glob("*")))


def programs(folder: Path, **scripts: str) -> Path:
    """Write executable shell scripts, readable to the user that the server runs as."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def open_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mhpg-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("initdb", "postgres"),
    [
        ("echo no room for a cluster; exit 1", "exit 0"),
        ("exit 0", "echo no room for a server; exit 1"),
    ],
)
def test_failure_is_reported_at_once_with_the_servers_message(
    open_folder: Path, initdb: str, postgres: str, monkeypatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(open_folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    binaries = programs(open_folder / "bin", initdb=initdb, postgres=postgres)
    begun = time.monotonic()
    with pytest.raises(PostgresMissingError, match="no room for a"), postgres_server(binaries):
        pass
    assert time.monotonic() - begun < POSTGRES_START_SECONDS / 2
    assert [path.name for path in open_folder.iterdir()] == ["bin"]


def test_programs_that_cannot_be_run_are_named(open_folder: Path) -> None:
    with pytest.raises(PostgresMissingError, match="nowhere"), postgres_server(open_folder / "nowhere"):
        pass


def test_folder_too_deep_for_a_socket_is_refused(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = open_folder / ("x" * 90)
    deep.mkdir()
    monkeypatch.setenv("TMPDIR", str(deep))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with pytest.raises(PostgresMissingError, match="TMPDIR"), postgres_server():
        pass
    assert not list(deep.iterdir())


def test_path_wins_then_the_newest_version(tmp_path: Path) -> None:
    for version in ("9", "14", "16"):
        programs(tmp_path / "lib" / version / "bin", initdb="", postgres="")
    programs(tmp_path / "lib" / "17" / "bin", initdb="")
    on_path = programs(tmp_path / "bin", initdb="", postgres="")
    installed = tmp_path / "lib"
    assert find_binaries(f"{tmp_path}{os.pathsep}{on_path}", installed) == on_path
    assert find_binaries("", installed) == installed / "16" / "bin"
    assert find_binaries("", tmp_path / "none") is None


def test_link_to_initdb_leads_to_its_neighbours(tmp_path: Path) -> None:
    real = programs(tmp_path / "real", initdb="", postgres="")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "initdb").symlink_to(real / "initdb")
    assert find_binaries(str(tmp_path / "bin"), tmp_path) == real
