"""The access log: the same JSON and the same records as the standard ways would make, only faster."""

import json
import logging
import threading
from typing import Any

import pytest

from modhub.http.access_log import log, log_request
from modhub.http.headers import REQUEST_ID

HOSTILE = [
    "/api/modhub",
    '/"\\\n\r\t\x00\x1b[31m\x7f',
    "/ü\u2028\U0001f600".encode().decode("latin-1"),
    "/\xff\xfe not UTF-8",
    "/" + "x" * 900,
    "",
]


def logged(caplog: pytest.LogCaptureFixture, environ: dict[str, Any], status: int, seconds: float) -> logging.LogRecord:
    caplog.clear()
    caplog.set_level(logging.INFO, log.name)
    log_request({REQUEST_ID: "0123456789abcdef", **environ}, status, seconds)
    (record,) = caplog.records
    return record


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("caller", [None, "127.0.0.1", '::1"\n'])
def test_a_request_is_one_line_of_json(caplog: pytest.LogCaptureFixture, path: str, caller: str | None) -> None:
    # T-D11
    environ = {"REQUEST_METHOD": 'G"T', "PATH_INFO": path, "QUERY_STRING": "token=secret"}
    record = logged(caplog, {**environ, "REMOTE_ADDR": caller} if caller else environ, 200, 0.001234)
    expected = {
        "id": "0123456789abcdef",
        "method": 'G"T',
        "path": path.encode("latin-1").decode("utf-8", "replace")[:500],
        "status": 200,
        "ms": 1.23,
        "caller": caller,
    }
    assert record.getMessage() == json.dumps(expected)


def test_a_record_has_what_every_record_has(caplog: pytest.LogCaptureFixture) -> None:
    record = logged(caplog, {"REQUEST_METHOD": "GET"}, 404, 1e-7)
    ordinary = logging.LogRecord(log.name, logging.INFO, record.pathname, 0, record.msg, None, None, "log_request")
    attributes = {name: value for name, value in vars(record).items() if name != "message"}  # added by a formatter
    for name in ("created", "msecs", "relativeCreated"):
        measured, expected = attributes.pop(name), vars(ordinary).pop(name)
        assert name == "msecs" or 0 <= expected - measured < 60_000
    assert 0 <= record.msecs < 1000
    # A formatter may use any of them.
    assert attributes == vars(ordinary)


def test_a_record_names_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    names: list[str | None] = []
    thread = threading.Thread(
        target=lambda: names.append(logged(caplog, {"REQUEST_METHOD": "GET"}, 200, 0).threadName), name="reader-7"
    )
    thread.start()
    thread.join()
    assert names == ["reader-7"]


def test_a_disabled_log_builds_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, log.name)
    log_request({}, 200, 0)  # an empty environ has no id: building the line would fail
    assert not caplog.records
