"""The scanner of an application, and whether it answers."""

import logging
from threading import BoundedSemaphore, Lock
from typing import Final

from prometheus_client import Gauge

from modhub_moderation.scanning.interfaces import Scanner, ScannerDown

DOWN: Final = Gauge("modhub_scanner_down", "1 if the malware scanner did not answer the last time.")
MOST_AT_ONCE: Final = 32
"""Scans of uploads at once in a process: a scanner that hangs must leave threads for those who sign in."""

log = logging.getLogger(__name__)


class Scanning:
    """The service of scanning; there is none without the setting ``modhub_moderation.scanner``."""

    def __init__(self, scanner: Scanner, *, later: bool) -> None:
        self.scanner = scanner
        self.later = later
        """Whether files of drafts are accepted while the scanner is down."""
        self.slots = BoundedSemaphore(MOST_AT_ONCE)
        self._is_down = False
        self._lock = Lock()

    def note_up(self) -> None:
        """The scanner has answered."""
        if self._turn(is_down=False):
            log.info("uploads are scanned again")

    def note_down(self, error: ScannerDown) -> None:
        """The scanner has not answered; of several times in a row the first is logged."""
        if self._turn(is_down=True):
            log.warning("uploads cannot be scanned: %s", error)

    def _turn(self, *, is_down: bool) -> bool:
        with self._lock:
            has_turned = self._is_down is not is_down
            self._is_down = is_down
        DOWN.set(is_down)
        return has_turned
