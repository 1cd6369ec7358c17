"""Debian's pgbouncer in transaction mode before a PostgreSQL server, for tests."""

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psycopg
from sqlalchemy import make_url

from modhub.db import DatabaseLimits
from modhub.db.session_limits import role_statements
from modhub_testing.postgres import PORT, server_account, server_environment

POOLER_START_SECONDS: Final = 60.0
POOL_SIZE: Final = 6
"""Connections of the server for each database."""
POOLED: Final = {"modhub.database_pooler": "transaction"}
"""The setting of a service behind it."""
_INI: Final = """\
[databases]
* = host={server} port={port} user=postgres
[pgbouncer]
unix_socket_dir = {folder}
listen_addr =
listen_port = {port}
auth_type = any
admin_users = admin
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = 500
server_login_retry = 1
logfile = {folder}/log
pidfile = {folder}/pid
{more}
"""


def pgbouncer() -> str | None:
    """The program, if it is installed."""
    return shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


class Pooler:
    """A running pgbouncer before the server whose socket is in ``base``; ``more`` are further lines of its section."""

    def __init__(self, base: Path, mode: str = "transaction", more: str = "") -> None:
        self._mode = mode
        self._more = more
        # Like the server's: the path of a socket is short.
        self.folder = Path(tempfile.mkdtemp(prefix="pooler-"))
        self._account: dict[str, Any] = server_account()
        if self._account:
            os.chown(self.folder, self._account["user"], self._account["group"])
        self.ini = self.folder / "pgbouncer.ini"
        self._configure(base)
        program = pgbouncer()
        assert program, "pgbouncer is not installed"
        self._process = subprocess.Popen(  # noqa: S603
            [program, "-q", str(self.ini)], cwd=self.folder, env=server_environment(), **self._account
        )
        self._wait()

    def _configure(self, base: Path) -> None:
        text = _INI.format(server=base, port=PORT, folder=self.folder, mode=self._mode, size=POOL_SIZE, more=self._more)
        self.ini.write_text(text, "utf-8")

    def _wait(self) -> None:
        self._until(lambda: self.connect("pgbouncer", "admin").close())

    def wait_for(self, direct: str) -> None:
        """Until it lets clients to a database of the server."""
        database = str(make_url(direct).database)

        def ask() -> None:
            with contextlib.closing(self.connect(database)) as connection:
                connection.execute("SELECT 1")

        self._until(ask)

    def _until(self, succeed: Callable[[], None]) -> None:
        deadline = time.monotonic() + POOLER_START_SECONDS
        while True:
            try:
                succeed()
            except psycopg.OperationalError:
                assert self._process.poll() is None and time.monotonic() < deadline, (self.folder / "log").read_text()
                time.sleep(0.02)
            else:
                return

    def connect(self, database: str, user: str = "postgres") -> "psycopg.Connection[tuple[Any, ...]]":
        """A connection through the pooler, in autocommit mode; the caller closes it."""
        return psycopg.connect(
            host=str(self.folder), port=PORT, user=user, dbname=database, autocommit=True, prepare_threshold=None
        )

    def set_role(self, direct: str, settings: Mapping[str, str | None]) -> None:
        """Give the role of a database the limits of an ini's settings, as ``modhub-admin pooler`` says."""
        limits = DatabaseLimits(
            lock_seconds=int(settings.get("modhub.lock_seconds") or 5),
            role_statement_seconds=int(settings.get("modhub.statement_seconds") or 60),
        )
        with contextlib.closing(psycopg.connect(direct.replace("+psycopg", ""), autocommit=True)) as connection:
            for statement in role_statements(make_url(direct), limits):
                connection.execute(statement.encode())

    def reconnect(self) -> None:
        """Let it close its connections to the server once they are free, so that new ones have the role's settings."""
        self._command("RECONNECT")

    def lead_to(self, base: Path) -> None:
        """Go on with another server, as after a failover; the connections of clients stay."""
        self._configure(base)
        self._command("RELOAD")
        self._command("RECONNECT")

    def _command(self, command: str) -> None:
        # Its console knows the simple protocol alone.
        with contextlib.closing(self.connect("pgbouncer", "admin")) as connection:
            connection.pgconn.exec_(command.encode())

    def url(self, direct: str) -> str:
        """The address through the pooler of a database of the server."""
        url = make_url(direct)
        return url.update_query_dict({"host": str(self.folder)}).render_as_string(hide_password=False)

    def stop(self) -> None:
        """End it and remove its folder."""
        self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
