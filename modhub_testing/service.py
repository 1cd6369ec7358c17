"""Real processes for tests: an ini file, a database, a file store, and ``pserve`` on loopback sockets.

:class:`Installation` is the service as an operator installs it, called by `modhub_testing.caller`. Nothing here uses
the application's internals.
"""

import atexit
import http.client
import itertools
import os
import signal
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

from modhub.base.ini_file import application_settings
from modhub_testing.caller import Caller

SERVICE_START_SECONDS = 120.0
SERVICE_STOP_SECONDS = 90.0
ADMIN_SECONDS = 200.0
CRASHES = frozenset({signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL})
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
    """A ``pserve`` process on a loopback port; its output goes to ``log``."""

    def __init__(
        self,
        command: Sequence[str],
        port: int,
        log: Path,
        environ: Mapping[str, str],
    ) -> None:
        self.port = port
        self.log = log
        self.began = time.monotonic()
        with log.open("ab") as output:
            self.popen = subprocess.Popen(command, env=dict(environ), stdout=output, stderr=output)  # noqa: S603

    def wait(self) -> float:
        """Wait until it responds and return the seconds since its start. AssertionError if it ends or times out."""
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
        """End the process by SIGKILL, as a crash would."""
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        """Send SIGTERM, then SIGKILL after a timeout; return the exit code."""
        self.popen.terminate()
        return self.wait_for_end()

    def wait_for_end(self) -> int:
        """Wait until it has ended by itself, kill it after a timeout; return the exit code."""
        try:
            self.popen.wait(SERVICE_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.popen.kill()
        return self.popen.wait()

    def memory(self) -> int:
        """Return its peak memory in bytes."""
        status = Path(f"/proc/{self.popen.pid}/status").read_text("ascii")
        return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


class Installation:
    """A configuration in its own folder, its database and file store, and the processes that serve it.

    ``settings`` go to ``[app:main]`` and ``server`` to ``[server:main]``; a setting of None is omitted. ``environ`` is
    added to the environment. Only processes started here are stopped here.
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
        """Write the ini file."""
        app_settings = {
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
        lines += [f"{name} = {value}".replace("%", "%%") for name, value in app_settings.items() if value is not None]
        lines += ["[server:main]", *(f"{name} = {value}" for name, value in serving.items())]
        self.ini.write_text("\n".join(lines) + LOGGING, "utf-8")

    def admin(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run ``modhub-admin -c INI`` with these arguments."""
        return self.run("modhub-admin", "-c", str(self.ini), *words)

    def run(self, name: str, *words: str, **environ: str) -> "subprocess.CompletedProcess[str]":
        """Run a program that ends by itself, with these arguments and additional environment variables."""
        with self._launch(name, *words, **environ) as program:
            try:
                output, errors = program.communicate(timeout=ADMIN_SECONDS)
            except BaseException:
                program.kill()
                raise
        return subprocess.CompletedProcess(program.args, program.returncode, output, errors)

    def launch_admin(self, *words: str) -> "subprocess.Popen[str]":
        """Start ``modhub-admin -c INI`` with these arguments; its output goes to pipes."""
        return self._launch("modhub-admin", "-c", str(self.ini), *words)

    def _launch(self, name: str, *words: str, **environ: str) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        command = [str(script(name)), *words]
        return subprocess.Popen(command, env=self.environ | environ, stdout=pipe, stderr=pipe, text=True)  # noqa: S603

    def start(self, wrapper: Sequence[str] = (), port: int = 0) -> Process:
        """Start another process and wait until it responds."""
        process = self.launch(wrapper, port)
        process.wait()
        return process

    def launch(self, wrapper: Sequence[str] = (), port: int = 0) -> Process:
        """Start another process without waiting for it."""
        log = self.folder / f"pserve-{next(self._numbers)}.log"
        port = port or free_port()
        command = [*wrapper, str(script("pserve")), str(self.ini), f"port={port}"]
        self.processes.append(Process(command, port, log, self.environ))
        return self.processes[-1]

    def stop(self) -> list[int]:
        """Stop all running processes at the same time and return their exit codes.

        Each gets one signal: a second one would cut the requests that it finishes.
        """
        running = [process for process in self.processes if process.popen.poll() is None]
        for process in running:
            process.popen.terminate()
        return [process.wait_for_end() for process in running]

    def log(self) -> str:
        """Return the output of all processes."""
        return "".join(path.read_text("utf-8", "replace") for path in sorted(self.folder.glob("pserve-*.log")))

    def crashed(self) -> list[str]:
        """The logs of the processes that ended by a fault of their own, each with the signal."""
        ended = [(each.log.name, each.popen.poll()) for each in self.processes]
        return [f"{name}: {signal.strsignal(-code)}" for name, code in ended if code is not None and -code in CRASHES]

    def caller(self, token: str = "", refresh_token: str = "") -> Caller:
        """Return a caller of all running processes."""
        ports = [process.port for process in self.processes if process.popen.poll() is None]
        return Caller(ports, token, refresh_token)

    def register(self, name: str) -> Caller:
        """Register an account and return its caller (needs a feature that provides accounts)."""
        credentials = {"email": f"{name}@example.org", "password": PASSWORD}
        session = self.caller().need(201, "POST", "/api/auth/register", credentials)
        return self.caller(session["accessToken"], session["refreshToken"])

    def connect(self) -> Any:
        """Return a separate database connection in autocommit mode; the caller closes it."""
        if self.url.startswith("sqlite"):
            return sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None, timeout=60)
        return psycopg.connect(self.url.replace("+psycopg", ""), autocommit=True)

    def rows(self, statement: str) -> list[Any]:
        """Run a query directly on the database and return its rows."""
        with closing(self.connect()) as connection:
            rows: list[Any] = connection.execute(statement).fetchall()
            return rows

    def named(self) -> dict[str, int]:
        """Return every file that a row refers to, in the format of `stored`."""
        rows = self.rows("SELECT key, size FROM core_blob")
        return {f"{key[:2]}/{key[2:]}": size for key, size in rows}

    def stored(self) -> dict[str, int]:
        """Return the size of every file in the store by its relative path."""
        sizes = {}
        for path in self.files.rglob("*"):
            try:
                if path.is_file():
                    sizes[str(path.relative_to(self.files))] = path.stat().st_size
            except FileNotFoundError:  # deleted in the meantime
                continue
        return sizes


def script(name: str) -> Path:
    """Return the path of a program in the current virtual environment."""
    return Path(sys.executable).with_name(name)


def features_of(ini: Path) -> str:
    """Return the features that an ini file enables: what the same deployment of an :class:`Installation` includes."""
    includes: str = application_settings(str(ini))["pyramid.includes"]
    return " ".join(includes.split())


def free_port() -> int:
    """Return a free loopback port and reserve it, so that the system does not assign it to another process.

    A socket stays bound to the port without listening. With SO_REUSEADDR on both sides, which all servers here set, a
    server can still listen on it.
    """
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    atexit.register(held.close)
    number: int = held.getsockname()[1]
    return number
