"""Real processes for tests: one ini, one database, one file store, and ``pserve`` over loopback sockets.

:class:`Installation` is the service as an operator has it; `modhub.testing.caller` talks to it. Nothing here looks into
the application.
"""

import atexit
import http.client
import itertools
import os
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

from modhub.testing.caller import Caller

SERVICE_START_SECONDS = 120.0
SERVICE_STOP_SECONDS = 90.0
SERVICE_SECRET = "a secret of the tests, of more than 32 characters"  # noqa: S105 - it guards nothing
PASSWORD = "correct horse battery"  # noqa: S105 - of accounts that live for one test

LOGGING = """
[loggers]
keys = root, modhub
[handlers]
keys = console
[formatters]
keys = line
[logger_root]
level = WARNING
handlers = console
[logger_modhub]
level = INFO
handlers =
qualname = modhub
[handler_console]
class = StreamHandler
args = (sys.stderr,)
formatter = line
[formatter_line]
format = %(asctime)s %(levelname)s %(name)s %(message)s
"""


class Process:
    """One ``pserve`` at a loopback port; its output goes to ``log``."""

    def __init__(self, command: Sequence[str], port: int, log: Path, environ: Mapping[str, str]) -> None:
        self.port = port
        self.log = log
        self.began = time.monotonic()
        with log.open("ab") as output:
            self.popen = subprocess.Popen(command, env=dict(environ), stdout=output, stderr=output)  # noqa: S603

    def wait(self) -> float:
        """Wait until it answers; the seconds that it took from its start. AssertionError: it ended, or never did."""
        while True:
            try:
                answer = Caller([self.port]).ask("GET", "/healthz", timeout=30)
                assert answer.status == 200, answer
            except (OSError, http.client.HTTPException):
                spent = time.monotonic() - self.began
                assert self.popen.poll() is None and spent < SERVICE_START_SECONDS, self.log.read_text(
                    "utf-8", "replace"
                )
                time.sleep(0.02)
            else:
                return time.monotonic() - self.began

    def kill(self) -> None:
        """SIGKILL."""
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        """SIGTERM, and SIGKILL when that does not help; the exit code."""
        if self.popen.poll() is None:
            self.popen.terminate()
            try:
                self.popen.wait(SERVICE_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.popen.kill()
        return self.popen.wait()

    def memory(self) -> int:
        """The most memory that it has had so far, in bytes (VmHWM)."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text("ascii")
        return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


class Installation:
    """A configuration in a folder of its own, its database and file store, and the processes that serve it.

    ``settings`` are lines of ``[app:main]`` and ``server`` of ``[server:main]``; a setting of None is left out.
    ``environ`` is added to the environment. Only processes that were started here are ended here.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        includes: str = "",
        *,
        settings: Mapping[str, str | None] | None = None,
        server: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.url = url
        self.ini = folder / "service.ini"
        self.files = folder / "files"
        self.spool = folder / "tmp"
        self.spool.mkdir(parents=True, exist_ok=True)
        self.environ = {**os.environ, "PYTHONWARNINGS": "ignore", "TMPDIR": str(self.spool), **(environ or {})}
        self.processes: list[Process] = []
        self._numbers = itertools.count(1)
        self.configure(includes, settings or {}, server or {})

    def configure(self, includes: str, settings: Mapping[str, str | None], server: Mapping[str, object]) -> None:
        """Write the ini anew."""
        given = {
            "use": "egg:modhub",
            "pyramid.includes": includes,
            "sqlalchemy.url": self.url,
            "modhub.secret": SERVICE_SECRET,
            "modhub.storage": f"file://{self.files}",
            "modhub.mail_dir": str(self.folder / "mail"),
            **settings,
        }
        serving = {"use": "egg:modhub#server", "listen": "127.0.0.1:%(port)s", "threads": 4, **server}
        lines = ["[app:main]"]
        lines += [f"{name} = {value}".replace("%", "%%") for name, value in given.items() if value is not None]
        lines += ["[server:main]", *(f"{name} = {value}" for name, value in serving.items())]
        self.ini.write_text("\n".join(lines) + LOGGING, "utf-8")

    def admin(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """``modhub-admin -c INI words``."""
        command = [str(script("modhub-admin")), "-c", str(self.ini), *words]
        return subprocess.run(  # noqa: S603
            command, env=self.environ, capture_output=True, text=True, timeout=200, check=False
        )

    def start(self, wrapper: Sequence[str] = (), port: int = 0) -> Process:
        """Start one more process and wait until it answers."""
        process = self.launch(wrapper, port)
        process.wait()
        return process

    def launch(self, wrapper: Sequence[str] = (), port: int = 0) -> Process:
        """Start one more process."""
        log = self.folder / f"pserve-{next(self._numbers)}.log"
        port = port or free_port()
        command = [*wrapper, str(script("pserve")), str(self.ini), f"port={port}"]
        self.processes.append(Process(command, port, log, self.environ))
        return self.processes[-1]

    def stop(self) -> list[int]:
        """End every process that is still there; the exit codes of these."""
        running = [process for process in self.processes if process.popen.poll() is None]
        for process in running:
            process.popen.terminate()
        return [process.stop() for process in running]

    def log(self) -> str:
        """What all processes have written."""
        return "".join(path.read_text("utf-8", "replace") for path in sorted(self.folder.glob("pserve-*.log")))

    def caller(self, token: str = "") -> Caller:
        """A caller of every process that runs."""
        return Caller([process.port for process in self.processes if process.popen.poll() is None], token)

    def register(self, name: str) -> Caller:
        """A caller with a new account (needs a feature that gives accounts)."""
        given = {"email": f"{name}@example.org", "password": PASSWORD}
        session = self.caller().need(201, "POST", "/api/auth/register", given)
        return self.caller(session["accessToken"])

    def connect(self) -> Any:
        """A connection of one's own to the database, in autocommit; close it."""
        if self.url.startswith("sqlite"):
            return sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
        return psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True)

    def rows(self, statement: str) -> list[Any]:
        """What ``statement`` finds, past the service."""
        with closing(self.connect()) as connection:
            found: list[Any] = connection.execute(statement).fetchall()
            return found

    def named(self) -> dict[str, int]:
        """Every file that a row names, as `stored` shows it."""
        rows = self.rows("SELECT key, size FROM core_blob")
        return {f"{key[:2]}/{key[2:]}": size for key, size in rows}

    def stored(self) -> dict[str, int]:
        """Every file of the store, by its path below it, with its size."""
        found = {}
        for path in self.files.rglob("*"):
            try:
                if path.is_file():
                    found[str(path.relative_to(self.files))] = path.stat().st_size
            except FileNotFoundError:  # it is going just now
                continue
        return found


def script(name: str) -> Path:
    """A program of the environment that the tests run in."""
    return Path(sys.executable).with_name(name)


def free_port() -> int:
    """A port of the loopback address that nobody listens at, and that the system gives to nobody else from now on.

    A socket stays bound to it and never listens. With SO_REUSEADDR on both sides, which every server here sets, that
    keeps nobody from listening who names the port.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    number: int = held.getsockname()[1]
    return number
