"""The access log: one line of JSON for each request."""

import json
import logging

import pytest

from modhub.web.execution import log, log_request
from modhub.web.headers import REQUEST_ID

HOSTILE = [
    "/api/modhub",
    '/"\\\n\r\t\x00\x1b[31m\x7f',
    "/ü\u2028\U0001f600".encode().decode("latin-1"),
    "/\xff\xfe not UTF-8",
    "/" + "x" * 900,
    "",
]


@pytest.mark.parametrize("path", HOSTILE)
@pytest.mark.parametrize("caller", [None, "127.0.0.1", '::1"\n'])
def test_a_request_is_one_line_of_json(caplog, path, caller):
    # T-D11
    caplog.set_level(logging.INFO, log.name)
    environ = {
        REQUEST_ID: "0123456789abcdef",
        "REQUEST_METHOD": 'G"T',
        "PATH_INFO": path,
        "QUERY_STRING": "token=secret",
    }
    log_request(environ | ({"REMOTE_ADDR": caller} if caller else {}), 200, 0.001234)
    expected = {
        "id": "0123456789abcdef",
        "method": 'G"T',
        "path": path.encode("latin-1").decode("utf-8", "replace")[:500],
        "status": 200,
        "ms": 1.23,
        "caller": caller,
    }
    assert caplog.messages == [json.dumps(expected)]
