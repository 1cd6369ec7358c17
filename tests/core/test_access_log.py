"""The access log: the same JSON and the same records as the standard ways would make, only faster."""

import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from modhub.base.json_lines import JsonLineFormatter
from modhub.http import access_log
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


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], "logging.StreamHandler[Any]"]]:
    """Makes the handler of the shipped inis the only one (pytest adds its own after the fixtures)."""

    def use() -> "logging.StreamHandler[Any]":
        handler = logging.StreamHandler(sys.__stderr__)
        handler.setFormatter(JsonLineFormatter())
        monkeypatch.setattr(log, "handlers", [handler])
        return handler

    monkeypatch.setattr(log, "propagate", False)
    monkeypatch.setattr(log, "level", logging.INFO)
    log.manager._clear_cache()  # type: ignore[attr-defined]
    yield use
    monkeypatch.undo()
    log.manager._clear_cache()  # type: ignore[attr-defined]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """What was written to the descriptor of standard error since the last call."""
    with (tmp_path / "log").open("wb", buffering=0) as file, (tmp_path / "log").open() as reader:
        monkeypatch.setattr(access_log, "_STDERR", file.fileno())
        yield reader.read


REQUEST = {REQUEST_ID: "0123456789abcdef", "REQUEST_METHOD": "GET", "PATH_INFO": "/ü".encode().decode("latin-1")}


@pytest.mark.parametrize("created", [1_763_000_000.0, 1_763_000_000.9994, 1_763_000_001.0625])
def test_the_shipped_log_gets_the_line_that_its_formatter_makes(
    shipped: Callable[[], Any], written: Callable[[], str], monkeypatch: pytest.MonkeyPatch, created: float
) -> None:
    handler = shipped()
    monkeypatch.setattr(time, "time", lambda: created)
    log_request(REQUEST, 200, 0.0123)
    line = written()
    handler.setStream(StringIO())
    log_request(REQUEST, 200, 0.0123)
    assert written() == ""
    assert line == handler.stream.getvalue()
    assert json.loads(line)["path"] == "/ü"


@pytest.mark.parametrize("change", ["handler", "level", "formatter", "handler filter", "filter"])
def test_with_anything_else_in_the_way_a_record_is_made(
    shipped: Callable[[], Any], written: Callable[[], str], monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    handler, heard = shipped(), list[logging.LogRecord]()
    listener = logging.Handler()
    monkeypatch.setattr(listener, "emit", heard.append)
    monkeypatch.setattr(log, "filters", [])
    if change == "handler":
        log.handlers.append(listener)
    elif change == "level":
        handler.setLevel(logging.WARNING)
    elif change == "formatter":
        handler.setFormatter(logging.Formatter("%(message)s"))
    elif change == "handler filter":
        handler.addFilter(lambda _: False)
    else:
        log.addFilter(lambda _: False)
    log_request(REQUEST, 200, 0)
    assert written() == ""
    assert len(heard) == (change == "handler")


def test_a_full_disk_stops_no_request(shipped: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    # T-F2
    shipped()
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(access_log, "_STDERR", full.fileno())
        log_request(REQUEST, 200, 0)
