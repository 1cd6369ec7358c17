"""The service as programs with a key see it: a machine key, or a publisher key, which is exchanged for a session."""

import hashlib
import http.client
import io
import json
import math
import mimetypes
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

from modhub_client.names import REFERENCE_KINDS, ModReference, parse_reference, refuse_elsewhere
from modhub_client.output import ClientError, ProgressBar, WrongUse, warn
from modhub_client.transport import Transport

PROGRAM: Final = "modhub-publish"
DONE, REJECTED, USAGE_ERROR, KEY_REJECTED, UNAVAILABLE, INCOMPLETE = range(6)
"""The exit codes; `command.EXIT_HELP` says what they mean."""
PUBLISHER_KEY: Final = "mhk_"
"""How publisher keys begin; all others are machine keys."""
TIMEOUT_SECONDS = 120.0
RETRY_SECONDS = 1.0
ANSWER_BYTES: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    body: bytes
    etag: str = ""
    """Without its quotes."""

    @property
    def document(self) -> dict[str, Any]:
        """The JSON object; empty if there is none."""
        try:
            document = json.loads(self.body)
        except ValueError:
            return {}
        return document if isinstance(document, dict) else {}


class SentFile:
    """A request body that shows on a terminal how much of it was read."""

    def __init__(self, file: BinaryIO, label: str) -> None:
        self.size = self._left = file.seek(0, os.SEEK_END)
        file.seek(0)
        self._file = file
        self.bar = ProgressBar(self.size, sys.stderr, label)

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, and never more than Content-Length in all."""
        chunk = self._file.read(min(size, self._left))
        self._left -= len(chunk)
        self.bar.add(len(chunk))
        return chunk


class ServiceClient:
    """A client of the service at ``url`` with the machine key ``key``."""

    def __init__(self, url: str, key: str) -> None:
        self._transport = Transport(url, PROGRAM, TIMEOUT_SECONDS)
        self.url = self._transport.url
        self.is_private = self._transport.is_private
        self.key = key
        self._headers: dict[str, Any] = {"X-Api-Key": key.encode()}

    def call(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        """Send a request; raise for an error."""
        answer = self.send_twice(method, path, body, media_type, label)
        if answer.status not in {200, 201}:
            raise failure_of(answer)
        if not answer.document:
            raise ClientError(REJECTED, f"{self.url} is not a modhub service.")
        return answer

    def send_json(self, method: str, path: str, document: Mapping[str, Any]) -> Answer:
        """Send a JSON document; raise for an error."""
        return self.call(method, path, io.BytesIO(json.dumps(document).encode()), "application/json")

    def send_twice(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        """Send a request, a second time after a 502 (C-ERR-15); the answer may be an error."""
        answer = self._send(method, path, body, media_type, label)
        if answer.status == 502:
            complain("the file store failed; trying again.")
            time.sleep(RETRY_SECONDS)
            answer = self._send(method, path, body, media_type, label)
        return answer

    def remove(self, path: str) -> None:
        """Delete what is at this path, if it is there."""
        answer = self._send("DELETE", path)
        if answer.status not in {204, 404}:
            raise failure_of(answer)

    def digest_of(self, path: str) -> str | None:
        """The SHA-256 of a public file; None if there is none, as for a draft's, which the service shows to nobody."""
        answer = self._read("HEAD", path)
        return answer.etag if answer else None

    def body_of(self, path: str) -> bytes | None:
        """What everybody may read at this path; None if nothing is there."""
        answer = self._read("GET", path)
        return answer.body if answer else None

    def _read(self, method: str, path: str) -> Answer | None:
        answer = self._exchange(method, path, None, {})
        if answer.status not in {200, 404}:
            # Sending again what may be there would make it twice.
            raise ClientError(UNAVAILABLE, f"{self.url} cannot be read: status {answer.status}.")
        return answer if answer.status == 200 else None

    def _send(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        headers = {**self._headers, "Accept": "application/json", "Content-Length": "0"}
        if body is None:
            return self._exchange(method, path, None, headers)
        sent = SentFile(body, label)
        try:
            headers |= {"Content-Length": str(sent.size), "Content-Type": media_type}
            return self._exchange(method, path, sent, headers)
        finally:
            sent.bar.close()

    def _exchange(self, method: str, path: str, body: SentFile | None, headers: Mapping[str, Any]) -> Answer:
        connection = self._transport.new_connection()
        try:
            response = self._transport.send(connection, method, path, body, headers)
            etag = response.getheader("ETag", "").strip('"')
            return Answer(response.status, response.read(ANSWER_BYTES), etag)
        except (OSError, http.client.HTTPException) as problem:
            where, why = f"{self.url} cannot be reached{self._transport.through}", problem or type(problem).__name__
            raise ClientError(UNAVAILABLE, f"{where}: {why}.") from None
        finally:
            connection.close()


class Publisher(ServiceClient):
    """A client with a publisher key, which it exchanges for a session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, key)
        self._headers = {}
        self._begin_session()

    def _begin_session(self) -> None:
        self._headers.pop("Authorization", None)
        self._renew_at = math.inf
        session = self.send_json("POST", "/api/auth/exchange", {"key": self.key}).document
        self._headers["Authorization"] = f"Bearer {session['accessToken']}"
        # A large upload on a slow line takes longer than half an hour (C-TOK-1).
        self._renew_at = monotonic() + session["expiresInSeconds"] / 2

    def _send(
        self, method: str, path: str, body: BinaryIO | None = None, media_type: str = "", label: str = ""
    ) -> Answer:
        if monotonic() > self._renew_at:
            self._begin_session()
        return super()._send(method, path, body, media_type, label)

    def create_mod(self, title: str, repeat_key: str) -> dict[str, Any]:
        """Create a draft. With the same ``repeat_key`` it is the same one, for a day (C-OWN-31)."""
        self._headers["Idempotency-Key"] = repeat_key
        try:
            return self.send_json("POST", "/api/modhub", {"title": title}).document
        finally:
            del self._headers["Idempotency-Key"]

    def read_own_mods(self) -> list[dict[str, Any]]:
        """The mods that the key is for."""
        mods: list[dict[str, Any]] = self.call("GET", "/api/modhub/mine").document["mods"]
        return mods

    def read_files(self, mod: str) -> list[dict[str, Any]]:
        """The files of a mod with their digests. ``mod`` is the path of a mod of one's own."""
        answer = self.send_twice("GET", f"{mod}/files")
        if answer.status == 404:
            raise ClientError(REJECTED, "The service is older than this program: it lists no files of drafts.")
        if answer.status != 200:
            raise failure_of(answer)
        files: list[dict[str, Any]] = answer.document["files"]
        return files

    def upload(self, path: str, file: Path, query: Mapping[str, str]) -> Answer:
        """Upload a file; the answer may be an error."""
        with file.open("rb") as opened:
            return self.send_twice("POST", f"{path}?{urlencode(query)}", opened, guess_media_type(file.name), file.name)

    def find_guid(self, word: str) -> str:
        """The GUID of the mod that a person names: one's own, or a published one."""
        reference = name_mod(word, self.url)
        if reference.guid:
            return reference.guid
        guids = [mod["guid"] for mod in self.read_own_mods() if mod["id"] == reference.id]
        return str(guids[0] if guids else self.call("GET", f"/api/modhub/{reference.id}").document["guid"])


def failure_of(answer: Answer) -> ClientError:
    """The failure for an error response."""
    error = str(answer.document.get("error", ""))
    message = str(answer.document.get("message") or error or "No reason given.")
    if answer.status == 401:
        return ClientError(KEY_REJECTED, f"The service rejected the key ({error or 401}). Do not retry with this key.")
    if error == "storage_not_configured":
        return ClientError(INCOMPLETE, "The service has no file storage configured. Tell its operator.")
    if answer.status in {502, 503, 504}:
        return ClientError(UNAVAILABLE, f"Temporarily unavailable ({answer.status}): {message}")
    if 300 <= answer.status < 400:
        return ClientError(REJECTED, "The service has moved; give its new address with --url.")
    return ClientError(REJECTED, f"Rejected ({answer.status}): {message}")


def complain(sentence: str) -> None:
    """Print a sentence to standard error."""
    warn(PROGRAM, sentence)


def name_mod(word: str, url: str) -> ModReference:
    """The mod that a person names, also by the path of its page. Pages of other services than ``url`` are refused."""
    text = word.strip()
    reference = parse_reference(f"{url}{text}" if text.startswith("/") else text)
    if reference is None:
        raise WrongUse(f"{text} is not {REFERENCE_KINDS}.")
    refuse_elsewhere(reference, url)
    return reference


def find_own(mods: Sequence[dict[str, Any]], reference: ModReference) -> dict[str, Any]:
    """The mod that was named."""
    for mod in mods:
        if mod["id"] == reference.id or mod["guid"].lower() == reference.guid:
            return mod
    raise ClientError(KEY_REJECTED, f"The key is not for the mod {reference.word}.")


def guess_media_type(name: str) -> str:
    """The media type of a file's bytes: those of a compressed file are not what was compressed."""
    media_type, compression = mimetypes.guess_type(name)
    if compression is not None:
        return "application/gzip" if compression == "gzip" else "application/octet-stream"
    return media_type or "application/octet-stream"


def sha256_of(file: Path) -> str:
    """The digest of a file, in hex."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
