"""``egg:modhub#server``: waitress, with a judgement before the body, deadlines, and a drain (T-D1 to T-D3, T-F9).

The application sees waitress's environ plus the notes of `modhub.server.request`. The service `BodyRules` of the
application says which bodies the server may read.
"""

import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from modhub.base.ini_file import refuse_unreadable
from modhub.base.optional_calls import hide_process
from modhub.base.settings import StartRefused
from modhub.plugins.workers import Workers
from modhub.server.loop import Server
from modhub.server.settings import Settings, find_service_of

__all__ = ["make_server", "serve"]

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SETTINGS_ERRORS = (ValueError, TypeError, OverflowError)
SWITCH_SECONDS = 0.0005
"""How long a worker may keep the interpreter from the loop. Accepting a connection takes ten system calls: with
Python's default of 5 ms it waits 50 ms and more while workers compute."""

logger = logging.getLogger("modhub.server")


def make_server(global_conf: Mapping[str, str] | None = None, **settings: Any) -> Callable[[Any], int]:
    """The ``paste.server_factory``: returns a function that serves the application passed to it.

    ``pserve`` makes the server before the application, and treats a SystemExit of a running server as an orderly end
    with code 0. So everything that can be checked early is checked here; later failures leave as an exception shown in
    one line.
    """
    defaults = dict(global_conf or {})
    try:
        refuse_unreadable(defaults.get("__file__"), defaults)
        Settings(**settings)
    except StartRefused as error:
        sys.exit(f"modhub does not start: {error}.")
    except SETTINGS_ERRORS as error:
        sys.exit(f"modhub does not start: {_settings_sentence(error)}.")

    def run(app: Any) -> int:
        try:
            return serve(app, **settings)
        except StartRefused:
            sys.excepthook = _print_one_line
            raise

    return run


def _print_one_line(_kind: Any, error: BaseException, _trace: Any) -> None:
    sys.stderr.write(f"modhub does not start: {error}.\n")


def _settings_sentence(error: Exception) -> str:
    return f"the section [server:main] is wrong: {str(error).rstrip('.')}"


def serve(app: Any, **settings: Any) -> int:
    """Serve ``app`` until SIGTERM, SIGINT or SIGHUP, drain, return 0. A second signal ends the drain.

    ``settings`` are waitress's and those of `modhub.server.settings.Settings`. Raises
    `StartRefused` for what the operator must fix: an address that is not available, a setting
    that is unknown or invalid. At the end it stops the application's workers.
    """
    try:
        return _serve(app, settings)
    finally:
        workers = find_service_of(app, Workers)
        if workers is not None:
            workers.stop()


def _serve(app: Any, settings: Mapping[str, Any]) -> int:
    if not faulthandler.is_enabled():
        faulthandler.enable()  # a crash in a library written in C leaves its stack in the log
    try:
        server = Server(app, **settings)
    except SETTINGS_ERRORS as error:
        raise StartRefused(_settings_sentence(error)) from None
    except OSError as error:
        raise StartRefused(f"it cannot listen at the address in [server:main]: {error.strerror or error}") from None
    for host, port in server.addresses:
        logger.info("serving on %s", f"http://{host}:{port}" if host != "unix" else f"unix:{port}")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    previous = {}
    hide_process()
    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            # Under nohup SIGHUP is ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                previous[number] = signal.signal(number, lambda *_: server.stop())
    notify_systemd_ready()
    try:
        server.run()
    finally:
        sys.setswitchinterval(interval)
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0


def notify_systemd_ready() -> None:
    """Send ``READY=1`` to the socket that systemd named (units with ``Type=notify``); without one, do nothing."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
            notifications.sendto(b"READY=1", address)
    except OSError as error:
        logger.warning("systemd cannot be notified: %s", error.strerror or error)
