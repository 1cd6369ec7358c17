"""An application that tells about the bodies that it is sent, and requests with bodies."""

import json
from pathlib import Path

from modhub.base.body_rules import ASKED_ABOVE_BYTES, BodyRules

LIMIT = 1000
MB = 1024 * 1024


class BodyApp:
    """Wants every body but one with ``Authorization: bad``, and tells what the server noted and what came.

    ``asked`` are the paths of bodies that it was asked about.
    """

    def __init__(self):
        rules = BodyRules()
        rules.add(["POST"], "/owner/{id}", LIMIT, "Authorization")
        rules.add(["POST"], "/key/{id}", LIMIT, "X-Api-Key")
        rules.add(["POST"], "/roomy", 64 * MB, "Authorization")
        rules.add(["POST"], "/asked", ASKED_ABOVE_BYTES, "Authorization")
        rules.add(["POST"], "/large", 64 * MB)
        rules.add(["POST"], "/raises", 64 * MB)
        self.registry = {BodyRules: rules}
        self.asked = []

    def __call__(self, environ, start_response):
        path, stream, sent = environ["PATH_INFO"], environ["wsgi.input"], environ.get("HTTP_AUTHORIZATION")
        notes = {key: value for key, value in environ.items() if key.startswith("modhub.body")}
        if notes == {"modhub.body": "expected"}:
            self.asked.append(path)
            if sent != "bad":
                start_response("100 Continue", [("X-Of", "no interest")])
                return []
        if path == "/raises":
            raise OSError("a fault of the application")
        size = sum(len(piece) for piece in iter(lambda: stream.read(65536), b""))
        stream.seek(0)
        statuses = {"modhub.body_limit_exceeded": "413 Too Large", "modhub.body_busy": "503 Service Unavailable"}
        status = next((statuses[note] for note in notes if note in statuses), "200 OK")
        if sent == "bad" or notes.get("modhub.body") == "unread":
            status = "401 Unauthorized"
        length, is_seekable = environ.get("CONTENT_LENGTH"), environ["webob.is_body_seekable"]
        body = json.dumps({"size": size, "notes": notes, "length": length, "seekable": is_seekable}).encode()
        start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        return [body]


def post(path, *lines, body=b"", version="1.1"):
    return "\r\n".join([f"POST {path} HTTP/{version}", "Host: a", *lines, "", ""]).encode() + body


def sized(size, path="/large", *lines):
    """The head of a body of this size."""
    return post(path, f"Content-Length: {size}", *lines)


def chunk(size):
    return b"%x\r\n%s\r\n" % (size, b"x" * size)


def chunks(size, piece=65536):
    """A body without its end."""
    return b"".join(chunk(min(piece, size - at)) for at in range(0, size, piece))


END = b"0\r\n\r\n"


def seen(answer):
    return json.loads(answer.body)


def resident():
    """The bytes of memory that this process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
