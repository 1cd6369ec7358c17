"""``pserve``: Pyramid's own, after a look at the ini.

Pyramid's shows a stack trace with lines of an ini that cannot be read, perhaps with secrets. Everything else is left to
it.
"""

import logging
import signal
import sys
from collections.abc import Sequence

from pyramid.scripts import pserve
from pyramid.scripts.common import parse_vars

from modhub.base.ini_file import refuse_unusable
from modhub.base.settings import StartRefused


class ServeCommand(pserve.PServeCommand):
    """Pyramid's, without its greeting: plain text among lines of the log that may be JSON."""

    def out(self, msg: str) -> None:
        """Print a message, except that the server starts: the log says where it serves."""
        is_logged = logging.getLogger("modhub.server").isEnabledFor(logging.INFO)
        if not (is_logged and msg.startswith("Starting server")):
            super().out(msg)


def pserve_main(argv: Sequence[str] | None = None) -> int:
    """The console script; the exit code is 1 if the ini cannot be used, 130 if it is interrupted before it serves."""
    try:
        return _serve(list(sys.argv if argv is None else argv))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def _serve(arguments: list[str]) -> int:
    parsed = pserve.PServeCommand(arguments).args
    if parsed.config_uri:
        try:
            server_name = None if parsed.server else parsed.server_name or "main"
            refuse_unusable(parsed.config_uri, parse_vars(parsed.config_vars), server_name)
        except StartRefused as error:
            sys.stderr.write(f"modhub does not start: {error}.\n")
            return 1
    code: int | None = ServeCommand(arguments).run()
    return code or 0
