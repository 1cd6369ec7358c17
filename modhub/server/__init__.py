"""``egg:modhub#server``: waitress, hardened (T-D1, T-D2, T-D3, T-F9).

The application sees waitress's environ and the notes of `modhub.server.parser.Parser`; what the server may do with a
body before that is said by the `IBodyRules` utility of the application's registry.
"""

import logging
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from modhub.ops.ini_file import refuse_unreadable
from modhub.server.loop import Server
from modhub.server.rules import BodyRule, BodyRules, IBodyRules
from modhub.server.settings import Settings
from modhub.settings import StartRefused

__all__ = ["BodyRule", "BodyRules", "IBodyRules", "make_server", "serve"]

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WRONG = (ValueError, TypeError, OverflowError)
SWITCH_SECONDS = 0.0005
"""How long a worker may keep the interpreter from the loop. With Python's own 5 ms a connection, which takes ten calls
of the system, waits 50 ms and more while workers compute."""

logger = logging.getLogger("modhub.server")


def make_server(global_conf: Mapping[str, str] | None = None, **settings: Any) -> Callable[[Any], int]:
    """The ``paste.server_factory``: a function that serves the application it is given.

    ``pserve`` makes the server before the application, and takes a SystemExit of a running server for an orderly end
    with code 0. So what can be judged is judged here; what fails later leaves as an exception that shows as one line.
    """
    given = dict(global_conf or {})
    try:
        refuse_unreadable(given.get("__file__"), given)
        Settings(**settings)
    except StartRefused as refusal:
        sys.exit(f"modhub does not start: {refusal}.")
    except WRONG as problem:
        sys.exit(f"modhub does not start: {_wrong(problem)}.")

    def run(app: Any) -> int:
        try:
            return serve(app, **settings)
        except StartRefused:
            sys.excepthook = _one_line
            raise

    return run


def _one_line(_kind: Any, problem: BaseException, _trace: Any) -> None:
    sys.stderr.write(f"modhub does not start: {problem}.\n")


def _wrong(problem: Exception) -> str:
    return f"[server:main] is wrong: {str(problem).rstrip('.')}"


def serve(app: Any, global_conf: Any = None, **settings: Any) -> int:  # noqa: ARG001
    """Serve ``app`` until SIGTERM, SIGINT or SIGHUP, drain, return 0. A second signal ends the drain.

    ``settings`` are waitress's and those of `modhub.server.settings.Settings`. Raises
    :class:`modhub.settings.StartRefused` for what the operator must mend: an address that cannot be had, a setting
    that is unknown or wrong.
    """
    try:
        service = Server(app, **settings)
    except WRONG as problem:
        raise StartRefused(_wrong(problem)) from None
    except OSError as problem:
        raise StartRefused(f"it cannot listen where [server:main] says: {problem.strerror or problem}") from None
    for host, port in service.addresses:
        logger.info("serving on %s", f"http://{host}:{port}" if host != "unix" else f"unix:{port}")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in STOPPING:
            # nohup has SIGHUP ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, lambda *_: service.stop())
    try:
        service.run()
    finally:
        sys.setswitchinterval(interval)
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0
