"""Programs of modhub without the wait for their imports, which are most of a start.

One process for each test process has imported what a start imports, and forks for each program. The program then runs
its own script with its own arguments, environment, folder and streams, and is a child of the test process as if that
had started it. Linux only; elsewhere, and where the interpreter's own variables differ, programs are started as usual.
"""

import atexit
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import Any

from sqlalchemy.orm import configure_mappers

import modhub
from modhub_testing.configuration_speed import configure_faster

PROGRAMS = ("modhub.admin.program", "modhub.admin.pserve", "modhub.server", "modhub.ops.migrate", "modhub.admin.backup")
INTERPRETER_VARIABLES = ("PYTHON", "LD_", "LC_", "LANG", "COVERAGE", "TZ", "MALLOC")
"""What an interpreter reads when it starts: a fork cannot take it over. PYTHONPATH can."""
MESSAGE_BYTES = 128 * 1024
PR_SET_CHILD_SUBREAPER = 36


def can_preload(environ: Mapping[str, str]) -> bool:
    """Whether a program with this environment can be forked."""
    return sys.platform == "linux" and _interpreter_variables(environ) == _interpreter_variables(_environ())


def _interpreter_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(INTERPRETER_VARIABLES) and name != "PYTHONPATH"
    }


def _environ() -> dict[str, str]:
    return {**os.environ, "PYTHONWARNINGS": "ignore"}


class PreloadedPrograms:
    """The process that has imported everything for installations with these features; it starts when first needed."""

    def __init__(self, features: str) -> None:
        self._features = features
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def popen(self, command: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
        """Start a Python script, like `subprocess.Popen`; in a forked process if its environment allows that."""
        if can_preload(options.get("env", os.environ)):
            return _ForkedPopen(self, command, **options)
        return subprocess.Popen([sys.executable, *command], **options)  # noqa: S603

    def fork(self, command: Sequence[str], folder: Any, environ: Mapping[str, str] | None, streams: list[int]) -> int:
        """Fork for a program and return its process id."""
        message = json.dumps([command, folder and os.fspath(folder), dict(os.environ if environ is None else environ)])
        libc = ctypes.CDLL(None)
        with self._lock:
            self._socket = self._socket or self._start()
            libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # children whose parent has ended become ours
            try:
                socket.send_fds(self._socket, [message.encode()], streams)
                pid = self._socket.recv(MESSAGE_BYTES)
            finally:
                libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        if not pid:
            raise RuntimeError("the process that has imported modhub has ended")
        return int(pid)

    def close(self) -> None:
        """End the process; programs run on."""
        if self._socket is not None:
            self._socket.close()
            self._popen.wait()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, "-m", __name__, str(theirs.fileno()), self._features]
            self._popen = subprocess.Popen(  # noqa: S603
                command, env=_environ(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        return ours


class _ForkedPopen(subprocess.Popen[Any]):
    def __init__(self, programs: PreloadedPrograms, command: Sequence[str], **options: Any) -> None:
        self._programs = programs
        super().__init__(command, **options)

    def _execute_child(self, args: Sequence[str], *rest: Any) -> None:
        # CPython's own way to start a process, 3.11 to 3.14: only the folder, environment and streams are used here.
        cwd, env = rest[4:6]
        streams = rest[9:15]
        child_streams = [
            stream if stream >= 0 else number for number, stream in enumerate((streams[0], streams[3], streams[5]))
        ]
        try:
            self.pid = self._programs.fork([*map(os.fspath, args)], cwd, env, child_streams)
        finally:
            self._close_pipe_fds(*streams)  # type: ignore[attr-defined]
        self._child_created = True


def _import_all(features: str) -> None:
    """Make an application with all features: it imports what a start imports, and fills caches that processes share."""
    database = "sqlite:////nowhere/modhub.sqlite"
    settings = {"sqlalchemy.url": database, "modhub.secret": "0" * 32, "pyramid.includes": features}
    configure_faster()
    modhub.configure(settings, makes_store=False).make_wsgi_app()
    for name in PROGRAMS:
        importlib.import_module(name)
    _fill_caches()


def _fill_caches() -> None:
    """Look once for what is the same for all: what is installed, the mapping of tables."""
    installed = [*metadata.distributions()]
    metadata.distributions = lambda **sought: metadata.Distribution.discover(**sought) if sought else iter(installed)
    read_once = cache(metadata.Distribution.metadata.fget)  # type: ignore[attr-defined]
    metadata.PathDistribution.metadata = property(read_once)  # type: ignore[assignment,method-assign]
    for distribution in installed:
        read_once(distribution)
    configure_mappers()


def _serve(requests: socket.socket) -> tuple[list[str], str | None, dict[str, str], list[int]]:
    """Fork for each request; returns, in the new process, what to run."""
    while True:
        message, streams, _, _ = socket.recv_fds(requests, MESSAGE_BYTES, 3)
        if not message:  # the tests have ended
            sys.exit(0)
        reader, writer = os.pipe()
        between = os.fork()
        if not between:
            pid = os.fork()
            if pid:
                os.write(writer, str(pid).encode())
                os._exit(0)
            command, folder, environ = json.loads(message)
            return command, folder, environ, streams
        for descriptor in (writer, *streams):
            os.close(descriptor)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(between, 0)  # from now on the program is a child of the tests
        requests.send(answer)


def _become(folder: str | None, environ: dict[str, str], streams: list[int]) -> None:
    """Take over what a started program would have."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 64)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = [path for path in environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in sys.path]
    if folder:
        os.chdir(folder)


def _main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests end it by closing the socket
    _import_all(sys.argv[2])
    gc.collect()
    gc.freeze()
    command, folder, environ, streams = _serve(requests)
    requests.detach()
    _become(folder, environ, streams)
    sys.argv = command
    _run(command[0])


def _run(script: str) -> None:
    """Run a program to its end, without the time that an interpreter takes to free all memory."""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    else:
        code = 0
    threading._shutdown()  # type: ignore[attr-defined] # waits for threads, as an interpreter does first
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _main()
