"""``egg:modhub#server``: waitress, hardened (architecture section 7; threats D1, D2, D3, F-9).

The application sees waitress's environ and the notes of `modhub.server.parser.Parser`; what the server may do with a
body before that is said by the `IBodyRules` utility of the application's registry.
"""

import logging
import signal
import sys
import threading
from typing import Any

from modhub.server.loop import Service
from modhub.server.rules import BodyRule, BodyRules, IBodyRules

__all__ = ["BodyRule", "BodyRules", "IBodyRules", "Service", "serve"]

logger = logging.getLogger("modhub.server")


def serve(app: Any, global_conf: Any = None, **settings: Any) -> int:  # noqa: ARG001
    """The ``paste.server_runner``: serve ``app`` until SIGTERM or SIGINT, drain, return 0.

    ``settings`` are waitress's and those of `modhub.server.settings.Settings`. A second signal ends the drain.
    What the operator must mend (an address that cannot be had, a setting that is unknown or wrong) ends the process
    with one line.
    """
    try:
        service = Service(app, **settings)
    except ValueError as problem:
        sys.exit(f"modhub does not start: [server:main] is wrong: {str(problem).rstrip('.')}.")
    except OSError as problem:
        sys.exit(f"modhub does not start: it cannot listen where [server:main] says: {problem.strerror}.")
    for host, port in service.addresses:
        logger.info("serving on %s", f"http://{host}:{port}" if host != "unix" else f"unix:{port}")
    previous = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):
            previous[number] = signal.signal(number, lambda *_: service.stop())
    try:
        service.run()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 0
