"""A fault that every request meets is said once a minute."""

import logging

from modhub.base import repeated_lines
from modhub.base.repeated_lines import AGAIN_SECONDS, log_sometimes

log = logging.getLogger("modhub.test")


def test_the_same_line_is_written_once_a_minute(caplog, monkeypatch):
    for moment in (0.0, 1.0, AGAIN_SECONDS - 1, AGAIN_SECONDS, AGAIN_SECONDS + 1):
        monkeypatch.setattr(repeated_lines, "monotonic", lambda moment=moment: moment)
        log_sometimes(log, logging.WARNING, "no %s", "disk")
        log_sometimes(log, logging.ERROR, "no %s", "table")
    assert caplog.messages == ["no disk", "no table"] * 2
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.ERROR] * 2


def test_what_was_written_takes_little_memory(caplog):
    for number in range(3000):
        log_sometimes(log, logging.ERROR, "file %d", number)
    assert len(caplog.messages) == 3000
    assert len(repeated_lines._written) <= 1000
