"""A PostgreSQL primary and its standby for tests, with failovers by kill and promote.

The service connects as a plain role that owns the database, to both servers at once.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg

from modhub_testing.postgres import (
    PORT,
    POSTGRES_START_SECONDS,
    connect_when_started,
    end_server,
    launch_server,
    make_cluster,
    server_environment,
    server_folder,
)

PAIR_DATABASE: Final = "modhub"
"""The database, and the role that owns it."""
PAIR_SETTINGS: Final = {
    "full_page_writes": "on",
    "hot_standby": "on",
    "max_connections": "200",
    "max_wal_senders": "4",
    "synchronous_commit": "on",
    "wal_keep_size": "256MB",
    "wal_level": "replica",
}


class PairServer:
    """One of the two servers; ``base`` is its folder, which also has its socket."""

    def __init__(self, programs: Path, base: Path, account: dict[str, Any]) -> None:
        self.base = base
        self._programs = programs
        self._account = account
        self._keeper: Any = None
        base.mkdir()
        if account:
            os.chown(base, account["user"], account["group"])

    @property
    def data(self) -> Path:
        """The folder of its data."""
        return self.base / "data"

    def initialize(self) -> None:
        """Make an empty cluster."""
        with (self.base / "log").open("wb") as log:
            make_cluster(self._programs, self.base, log, self._account)

    def copy(self, primary: "PairServer") -> None:
        """Become a standby of ``primary``, with a copy of its data in place of its own."""
        shutil.rmtree(self.data, ignore_errors=True)
        address = f"host={primary.base} port={PORT} user=postgres application_name={self.base.name}"
        self._run("pg_basebackup", "-d", address, "-D", str(self.data), "-R", "--no-sync", "-c", "fast")
        self.start()

    def start(self) -> None:
        """Start it and wait until it accepts connections."""
        self._keeper = launch_server(self._programs, self.base, self._account, PAIR_SETTINGS)
        connect_when_started(self.base, self._keeper).close()

    def stop(self) -> None:
        """Stop it at once; a second call is a no-op."""
        if self._keeper is not None:
            end_server(self._keeper)
            self._keeper.wait()

    def kill(self) -> None:
        """Kill all its processes, as a power cut does."""
        postmaster = int((self.data / "postmaster.pid").read_text("ascii").split("\n")[0])
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text("ascii").split()
        for pid in (postmaster, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.stop()

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-w", "-D", str(self.data))

    def connect(self, database: str = PAIR_DATABASE) -> "psycopg.Connection[tuple[Any, ...]]":
        """Return a connection of the superuser, in autocommit mode; the caller closes it."""
        address = f"host='{self.base}' port={PORT} user=postgres connect_timeout=5"
        return psycopg.connect(address, dbname=database, autocommit=True)

    def rows(self, statement: str) -> list[Any]:
        """Run a statement in the service's database and return its rows, if it has any."""
        with contextlib.closing(self.connect()) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *arguments: str) -> None:
        options: dict[str, Any] = {"cwd": self.base, "env": server_environment(), **self._account}
        command = (str(self._programs / program), *arguments)
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)  # noqa: S603
        assert done.returncode == 0, f"{program}: {done.stderr or done.stdout}"


class PostgresPair:
    """Two servers, of which ``primary`` can be written; made by `postgres_pair`."""

    def __init__(self, first: PairServer, second: PairServer) -> None:
        self.primary = first
        self.standby = second
        self._hosts = (first.base, second.base)
        first.initialize()
        first.start()
        with contextlib.closing(first.connect("postgres")) as connection:
            connection.execute(f"CREATE ROLE {PAIR_DATABASE} LOGIN".encode())
            connection.execute(f"CREATE DATABASE {PAIR_DATABASE} OWNER {PAIR_DATABASE}".encode())
        second.copy(first)

    @property
    def url(self) -> str:
        """The address of the service's database on both servers, whichever is the primary."""
        hosts = "&".join(f"host={base}:{PORT}" for base in self._hosts)
        return f"postgresql+psycopg://{PAIR_DATABASE}@/{PAIR_DATABASE}?{hosts}&target_session_attrs=read-write"

    @staticmethod
    def url_of(server: PairServer) -> str:
        """The address of the service's database on one server."""
        return f"postgresql+psycopg://{PAIR_DATABASE}@/{PAIR_DATABASE}?host={server.base}&port={PORT}"

    def wait_for_commits(self) -> None:
        """Let a commit wait until the standby has applied it."""
        for setting in ("synchronous_standby_names = '*'", "synchronous_commit = 'remote_apply'"):
            self.primary.rows(f"ALTER SYSTEM SET {setting}")
        self.primary.rows("SELECT pg_reload_conf()")

    def wait_until_equal(self) -> None:
        """Return once the standby has replayed all that the primary has written."""
        ((position,),) = self.primary.rows("SELECT pg_current_wal_lsn()")
        deadline = time.monotonic() + POSTGRES_START_SECONDS
        while not self.standby.rows(f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn")[0][0]:
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.02)

    def fail_over(self) -> None:
        """Kill the primary and promote the standby, which may have been stopped before: then commits are lost."""
        self.primary.kill()
        if not (self.standby.data / "postmaster.pid").exists():
            self.standby.start()
        self.promote()

    def promote(self) -> None:
        """Promote the standby; the other server goes on as it is."""
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Make the old primary the standby of the new one."""
        self.standby.copy(self.primary)


@contextlib.contextmanager
def postgres_pair() -> Iterator[PostgresPair]:
    """Run both servers for a ``with`` block; they start in about three seconds. Raises `PostgresMissingError`."""
    with server_folder() as (base, programs, account):
        servers = [PairServer(programs, base / name, account) for name in ("a", "b")]
        try:
            yield PostgresPair(*servers)
        finally:
            for server in servers:
                server.stop()
