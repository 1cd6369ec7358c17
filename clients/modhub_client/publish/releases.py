"""``app``, ``changelog`` and ``wiki`` of the console script: what the service has already is not sent again."""

import argparse
import hashlib
import http.client
import io
import json
import unicodedata
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout

from modhub_client.publish import publish
from modhub_client.publish.publish import UNAVAILABLE, Failure, ServiceClient, parse_document

ANSWER_BYTES = 1 << 24


class ServiceReader(ServiceClient):
    """Reads what everybody may read."""

    def _read(self, method: str, path: str) -> tuple[int, bytes, str]:
        """(status, body, ETag without its quotes)"""
        connection = self._connection()
        try:
            connection.request(method, self._prefix + path, headers=self.for_proxy({}))
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
        return etag if self._is_there(status) else None

    def body_of(self, path: str) -> bytes | None:
        """The body at this path; None if nothing is there."""
        status, body, _ = self._read("GET", path)
        return body if self._is_there(status) else None

    def _is_there(self, status: int) -> bool:
        if status not in (200, 404):
            # Sending again what may be there would make it twice.
            raise Failure(UNAVAILABLE, f"{self.url} cannot be read: status {status}.")
        return status == 200


class ReleaseRun:
    """One run of a command of the single file, and what it changed."""

    def __init__(self, command: Callable[[ServiceClient, argparse.Namespace], object], *, as_json: bool) -> None:
        self._command = command
        self._as_json = as_json
        self.changed: list[str] = []
        self.unchanged: list[str] = []
        self._url = ""
        self._facts: dict[str, list[str]] = {}

    def run(self, service: ServiceClient, arguments: argparse.Namespace) -> None:
        """Send what is not there yet."""
        self._url = service.url
        with redirect_stdout(io.StringIO()) if self._as_json else nullcontext():
            self._send(service, arguments)
        if self._as_json:
            facts = {"changed": self.changed, "unchanged": self.unchanged, **self._facts}
            publish.say(json.dumps({**facts, "url": self._url}))

    def _send(self, service: ServiceClient, arguments: argparse.Namespace) -> None:
        reader = ServiceReader(service.url, "")
        if self._command is publish.run_app:
            address = _find_build(reader, arguments)
            if self._is_there(f"app {arguments.os}", address is not None):
                self._url = f"{service.url}{address}"
            else:
                self._url = publish.run_app(service, arguments)
        elif self._command is publish.run_changelog:
            publish.run_changelog(
                service, arguments, lambda text: self._is_there("changelog", _has_section(reader, text))
            )
            if arguments.pop:
                self.changed.append("changelog")
        elif self._command is publish.run_wiki:
            removed, skipped = publish.run_wiki(
                service, arguments, lambda *page: self._is_there(f"wiki {page[0]}", _has_page(reader, *page))
            )
            self._facts = {"removed": removed, "skipped": skipped}
        else:
            self._command(service, arguments)

    def _is_there(self, what: str, is_there: bool) -> bool:
        (self.unchanged if is_there else self.changed).append(what)
        if is_there:
            publish.say(f"Unchanged: {what}")
        return is_there


def _lines(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").strip()


def _has_page(reader: ServiceReader, path: str, text: bytes) -> bool:
    """Whether the wiki has this page with this text."""
    return _lines(reader.body_of(f"/Modhub/api/wiki/{path}") or b"") == _lines(text)


def _find_build(reader: ServiceReader, arguments: argparse.Namespace) -> str | None:
    """The address of the newest build of the system, if it has this version, this name and these bytes."""
    name, size = arguments.name or arguments.file.name, arguments.file.stat().st_size
    builds = parse_document(reader.body_of("/api/modhub/app") or b"").get("builds", [])
    newest = next((build for build in builds if build["os"] == arguments.os), None)
    if newest is None or (newest["version"], newest["name"], newest["bytes"]) != (arguments.version, name, size):
        return None
    with arguments.file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    address = str(newest["versions"][0]["url"])
    return address if reader.digest_of(address) == digest else None


def _has_section(reader: ServiceReader, section: bytes) -> bool:
    """Whether the changelog has this section: at the top, or wherever if its first line has a number.

    So an older release's job may run again, and "Bug fixes" may be the section of two releases. The service drops
    outer blank lines and control characters, and joins sections by one blank line.
    """
    changelog = parse_document(reader.body_of("/api/modhub/app") or b"").get("changelog") or ""
    stored = unicodedata.normalize("NFC", section.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n"))
    lines = "".join(char for char in stored if char in "\n\t" or unicodedata.category(char) != "Cc").split("\n")
    while lines and not lines[0].strip():
        del lines[0]
    while lines and not lines[-1].strip():
        del lines[-1]
    text = "\n".join(lines)
    if not text:
        return False
    whole = f"{changelog}\n\n"
    return whole.startswith(f"{text}\n\n") or (
        any(char.isdigit() for char in text.partition("\n")[0]) and f"\n\n{text}\n\n" in whole
    )
