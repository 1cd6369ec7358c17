"""JSON log lines, and slow statements in the log."""

import json
import logging
import re

from modhub.base.json_lines import JsonLineFormatter, TextLineFormatter
from modhub.catalogue.owning import views
from modhub_testing import stored_files
from modhub_testing.mods import mod_address, published_mod


def line(name, message, *arguments, exc_info=None):
    record = logging.LogRecord(name, logging.WARNING, __file__, 1, message, arguments, exc_info)
    return JsonLineFormatter().format(record)


def test_a_line_is_one_object():
    entry = json.loads(line("modhub.admin", 'a "quoted" line\nand %s', "\x1b[31mé\u2028"))
    assert entry["message"] == 'a "quoted" line\nand \x1b[31mé\u2028'
    assert (entry["level"], entry["logger"]) == ("WARNING", "modhub.admin")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", entry["time"])


def test_an_object_is_merged_only_from_our_own_loggers():
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


def test_every_line_of_a_request_has_its_id(site, monkeypatch, caplog):
    # The access log, the security log, a failure of the store, an unexpected error
    written = []

    class Collector(logging.Handler):
        def emit(self, record):
            text = TextLineFormatter("%(name)s %(message)s").format(record)
            written.append((record.name, JsonLineFormatter().format(record), text))

    monkeypatch.setattr(logging.root, "handlers", [Collector()])
    caplog.set_level(logging.INFO, "modhub")
    caplog.set_level(logging.INFO, "modhub.requests")
    mod = published_mod(site)
    for path in stored_files(site):
        path.unlink()
    written.clear()
    answers = [site.get(mod_address(mod, "download"), status=503)]
    monkeypatch.setattr(views, "decode_in_turn", lambda *_: 1 / 0)
    answers.append(site.as_account(7).post_json("/api/modhub", {"title": "x"}, status=500))
    ids = [answer.headers["X-Request-Id"] for answer in answers]
    lines = [json.loads(line) for _, line, _ in written]
    assert {line["id"] for line in lines} == set(ids)
    loggers = {line["logger"] for line in lines}
    assert {"modhub.requests", "modhub.blobs.local", "modhub.web.error_views"} <= loggers
    assert all(line["id"] == ids[1] for line in lines if "traceback" in line)
    for name, _, text in written:
        first = text.splitlines()[0]
        assert re.search(r'"id": "[0-9a-f]{16}"' if name == "modhub.requests" else r" \[request [0-9a-f]{16}\]$", first)
