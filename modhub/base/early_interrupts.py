"""Ctrl-C while a console script is still importing: it ends at once, without a stack trace.

Imported first of all, because the imports take most of the time of a short command, which catches an interrupt itself.
"""

import os
import signal
import sys
from threading import current_thread, main_thread
from types import FrameType
from typing import Final

INTERRUPTED: Final = 130
"""The exit code after SIGINT, as a shell reports it."""
_SCRIPTS: Final = frozenset({"modhub-admin", "pserve"})


def _end(_number: int, _frame: FrameType | None) -> None:
    # Not by an exception: an import could catch it, or wrap it.
    os._exit(INTERRUPTED)


def restore_interrupts() -> None:
    """Let Ctrl-C raise ``KeyboardInterrupt`` from now on."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_is_script = os.path.basename(sys.argv[0]) in _SCRIPTS if sys.argv else False  # noqa: PTH119 - pathlib is an import more
# In the background of a shell SIGINT is ignored, and stays so.
if _is_script and signal.getsignal(signal.SIGINT) is signal.default_int_handler and current_thread() is main_thread():
    signal.signal(signal.SIGINT, _end)
