"""``app``, ``changelog`` and ``wiki`` of the console script: what the service has already is not sent again."""

import argparse
import hashlib
import http.client
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from urllib.parse import quote

from modhub_publish import publish
from modhub_publish.publish import UNAVAILABLE, Failure, ServiceClient

ANSWER_BYTES = 1 << 24


class ServiceReader(ServiceClient):
    """Reads what everybody may read."""

    def _read(self, method: str, path: str) -> tuple[int, bytes, str]:
        """(status, body, ETag without its quotes)"""
        connection = self._connection()
        try:
            connection.request(method, self._prefix + path)
            response = connection.getresponse()
            etag = (response.getheader("ETag") or "").strip('"')
            return response.status, response.read(ANSWER_BYTES), etag
        except (OSError, http.client.HTTPException) as problem:
            reason = problem or type(problem).__name__
            raise Failure(UNAVAILABLE, f"{self.url} cannot be reached: {reason}.") from None
        finally:
            connection.close()

    def digest_of(self, path: str) -> str | None:
        """The SHA-256 of a public file; None if there is none, as for a draft's, which the service shows to nobody."""
        status, _, etag = self._read("HEAD", path)
        return etag if status == 200 else None

    def body_of(self, path: str) -> bytes | None:
        """The body at this path; None if nothing is there."""
        status, body, _ = self._read("GET", path)
        return body if status == 200 else None


class ReleaseRun:
    """One run, and what it changed."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self.changed: list[str] = []
        self.unchanged: list[str] = []

    def run(self, service: ServiceClient, arguments: argparse.Namespace) -> None:
        """Send what is not there yet. Commands that publish nothing run as they are."""
        reader = ServiceReader(service.url, "")
        if arguments.run is publish.run_app:
            self._step(f"app {arguments.os}", _has_build(reader, arguments), service, arguments)
        elif arguments.run is publish.run_changelog and not arguments.pop and arguments.file:
            self._release_section(reader, service, arguments)
        elif arguments.run is publish.run_wiki:
            self._release_pages(reader, service, arguments)
        else:
            with self._quiet():
                arguments.run(service, arguments)
        if self._as_json:
            publish.say(json.dumps({"changed": self.changed, "unchanged": self.unchanged, "url": service.url}))

    def _step(self, what: str, is_there: bool, service: ServiceClient, arguments: argparse.Namespace) -> None:
        if not is_there:
            with self._quiet():
                arguments.run(service, arguments)
        elif not self._as_json:
            publish.say(f"Unchanged: {what}")
        (self.unchanged if is_there else self.changed).append(what)

    def _release_section(self, reader: ServiceReader, service: ServiceClient, arguments: argparse.Namespace) -> None:
        if arguments.file == "-":
            section = sys.stdin.buffer.read()
            # The command reads it again.
            sys.stdin = io.TextIOWrapper(io.BytesIO(section))
        else:
            section = Path(arguments.file).read_bytes()
        self._step("changelog", _has_section(reader, section), service, arguments)

    def _release_pages(self, reader: ServiceReader, service: ServiceClient, arguments: argparse.Namespace) -> None:
        def skip(path: str, text: bytes) -> bool:
            is_there = _lines(reader.body_of(f"/Modhub/api/wiki/{path}") or b"") == _lines(text)
            if is_there:
                publish.say(f"Unchanged: {path}")
            (self.unchanged if is_there else self.changed).append(f"wiki {path}")
            return is_there

        with self._quiet():
            publish.run_wiki(service, arguments, skip)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Without the sentences of the commands, if one JSON document is to be printed."""
        if not self._as_json:
            yield
            return
        with redirect_stdout(io.StringIO()):
            yield


def _lines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").strip()


def _has_build(reader: ServiceReader, arguments: argparse.Namespace) -> bool:
    """Whether the newest build of the system has this version, this name and these bytes."""
    name, size = arguments.name or arguments.file.name, arguments.file.stat().st_size
    builds = json.loads(reader.body_of("/api/modhub/app") or b"{}").get("builds", [])
    newest = next((build for build in builds if build["os"] == arguments.os), None)
    if newest is None or (newest["version"], newest["name"], newest["bytes"]) != (arguments.version, name, size):
        return False
    with arguments.file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return reader.digest_of(f"/Modhub/app/{quote(arguments.os, safe='')}") == digest


def _has_section(reader: ServiceReader, section: bytes) -> bool:
    """Whether the changelog begins with this section; the service drops outer blank lines."""
    changelog = json.loads(reader.body_of("/api/modhub/app") or b"{}").get("changelog") or ""
    lines = section.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    text = "\n".join(lines)
    return bool(text) and (changelog == text or changelog.startswith(f"{text}\n\n"))
