"""JSON log lines, and slow statements in the log."""

import configparser
import json
import logging
import re
import sys
from io import StringIO
from logging.config import fileConfig
from pathlib import Path

import pytest
from sqlalchemy import select

from modhub.base import repeated_lines
from modhub.base.json_lines import JsonLineFormatter, TextLineFormatter
from modhub.catalogue import owner_views
from modhub.catalogue.models import Mod
from modhub.ops.slow_statements import SlowStatements
from modhub_testing import Site, Start, stored_files
from modhub_testing.mods import mod_address, new_mod, published_mod

ROOT = Path(__file__).parents[2]


def line(name: str, message: str, *arguments: object, exc_info: object = None) -> str:
    record = logging.LogRecord(name, logging.WARNING, __file__, 1, message, arguments, exc_info)  # type: ignore[arg-type]
    return JsonLineFormatter().format(record)


def test_a_line_is_one_object() -> None:
    entry = json.loads(line("modhub.ops", 'a "quoted" line\nand %s', "\x1b[31mé\u2028"))
    assert entry["message"] == 'a "quoted" line\nand \x1b[31mé\u2028'
    assert (entry["level"], entry["logger"]) == ("WARNING", "modhub.ops")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])


def test_a_line_has_no_line_break_and_keeps_the_traceback() -> None:
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        written = line("modhub", "failed", exc_info=sys.exc_info())
    assert "\n" not in written
    assert json.loads(written)["traceback"].endswith("ValueError: first\nsecond")


def test_an_object_is_merged_only_from_our_own_loggers() -> None:
    message = json.dumps({"id": "1", "status": 200})
    assert json.loads(line("modhub.requests", "%s", message)) | {"time": ""} == {
        "time": "",
        "level": "WARNING",
        "logger": "modhub.requests",
        "id": "1",
        "status": 200,
    }
    # Anybody's text could look like one.
    assert json.loads(line("modhub.server", "%s", message))["message"] == message


def test_the_lines_of_production_have_no_prefix(capsys: pytest.CaptureFixture[str]) -> None:
    ini = configparser.RawConfigParser()
    ini.read(ROOT / "production.ini")
    for section in [name for name in ini.sections() if name.startswith(("app:", "server:"))]:
        ini.remove_section(section)
    names = ("", "modhub", "modhub.requests")
    before = [(logging.getLogger(name).level, logging.getLogger(name).handlers[:]) for name in names]
    stream = StringIO()
    ini.write(stream)
    stream.seek(0)
    try:
        fileConfig(stream, disable_existing_loggers=False)
        logging.getLogger("modhub.requests").info("%s", '{"id": "1"}')
        logging.getLogger("modhub").info("serving")
    finally:
        for name, (level, handlers) in zip(names, before, strict=True):
            logging.getLogger(name).setLevel(level)
            logging.getLogger(name).handlers[:] = handlers
    request, other = map(json.loads, capsys.readouterr().err.splitlines())
    assert (request["id"], other["message"]) == ("1", "serving")


def test_every_line_of_a_request_has_its_id(all_slow: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-27: the access log, slow statements, the security log, a failure of the store, an unexpected error
    written: list[tuple[str, str, str]] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            text = TextLineFormatter("%(name)s %(message)s").format(record)
            written.append((record.name, JsonLineFormatter().format(record), text))

    collector, root = Collector(), logging.getLogger()
    root.addHandler(collector)
    monkeypatch.setattr(logging.getLogger("modhub"), "level", logging.INFO)
    logging.getLogger("modhub.requests").setLevel(logging.INFO)
    try:
        mod = published_mod(all_slow)
        for path in stored_files(all_slow):
            path.unlink()
        written.clear()
        answers = [all_slow.get(mod_address(mod, "download"), status=503)]
        monkeypatch.setattr(owner_views, "decode_in_turn", lambda *_: 1 / 0)
        answers.append(all_slow.as_account(7).post_json("/api/modhub", {"title": "x"}, status=500))
    finally:
        root.removeHandler(collector)
        logging.getLogger("modhub.requests").setLevel(logging.NOTSET)
    ids = [answer.headers["X-Request-Id"] for answer in answers]
    lines = [json.loads(line) for _, line, _ in written]
    assert {line["id"] for line in lines} == set(ids)
    loggers = {line["logger"] for line in lines}
    assert {"modhub.requests", "modhub.statements", "modhub.blobs.local", "modhub.web.error_views"} <= loggers
    assert all(line["id"] == ids[1] for line in lines if "traceback" in line)
    for name, _, text in written:
        first = text.splitlines()[0]
        assert re.search(r'"id": "[0-9a-f]{16}"' if name == "modhub.requests" else r" \[request [0-9a-f]{16}\]$", first)


def statements(caplog: pytest.LogCaptureFixture) -> list[str]:
    records = [record for record in caplog.records if record.name == "modhub.statements"]
    assert all(record.levelname == "WARNING" for record in records)
    return [json.loads(record.getMessage())["statement"] for record in records]


@pytest.fixture
def all_slow(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Every statement counts as slow."""
    monkeypatch.setattr(site.find_service(SlowStatements), "_seconds", 0.0)
    return site


@pytest.mark.postgres
def test_slow_statements_are_named_without_values(all_slow: Site, caplog: pytest.LogCaptureFixture) -> None:
    # C-RUN-12
    mod = new_mod(all_slow, title="a secret title")
    reads_before = len(statements(caplog))
    all_slow.get(f"/api/modhub/{mod['id']}", status=404)  # raw queries only
    assert len(statements(caplog)) > reads_before
    with all_slow.databases.readonly_session() as session:
        session.scalars(select(Mod).where(Mod.title == "a secret title", Mod.id.in_([1, 2]))).all()
    logged = statements(caplog)
    assert any(statement.startswith("INSERT INTO core_mod") for statement in logged)
    assert any(statement.startswith("SELECT") and "core_mod" in statement for statement in logged)
    assert [statement for statement in logged if "secret title" in statement or "\n" in statement] == []
    assert all_slow.find_service(SlowStatements).count >= len(logged)


def test_a_slow_statement_is_one_line_a_minute(
    all_slow: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, asked = all_slow.find_service(SlowStatements), "/api/modhub/99"
    all_slow.get(asked, status=404)
    logged, counted = len(statements(caplog)), slow.count
    for _ in range(3):
        all_slow.get(asked, status=404)
    assert len(statements(caplog)) == logged
    assert slow.count > counted
    later = repeated_lines.monotonic() + repeated_lines.AGAIN_SECONDS
    monkeypatch.setattr(repeated_lines, "monotonic", lambda: later)
    all_slow.get(asked, status=404)
    assert len(statements(caplog)) > logged


@pytest.mark.postgres
def test_a_statement_that_fails_slowly_is_named(all_slow: Site, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Exception, match="no_such_table"), all_slow.databases.readonly_session() as session:
        session.connection().exec_driver_sql("SELECT 1 FROM no_such_table")
    assert "SELECT 1 FROM no_such_table" in statements(caplog)


def test_fast_statements_are_not_named(
    site: Site, start: Start, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site.find_service(SlowStatements), "_seconds", 600.0)
    off = start(modhub__slow_statement_ms="0")
    for app in (site, off):
        app.get(mod_address(published_mod(app)))
    assert statements(caplog) == []
    with pytest.raises(LookupError):
        off.find_service(SlowStatements)
