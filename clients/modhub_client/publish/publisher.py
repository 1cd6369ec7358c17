"""The service as the holder of a publisher key sees it: the calls for one's own mods."""

import hashlib
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode

from modhub_client.publish.publish import (
    KEY_REJECTED,
    REJECTED,
    USAGE_ERROR,
    Answer,
    Failure,
    ServiceClient,
    failure_of,
    guess_media_type,
)

_GUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
_PAGE: Final = re.compile(r"/Modhub/(?:mine/)?([1-9][0-9]{0,17})/?(?:[?#].*)?")


class Publisher(ServiceClient):
    """A client with a publisher key, which it exchanges for a session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, "")
        self._publisher_key = key
        self._headers: dict[str, str] = {}
        self._begin_session()

    def _begin_session(self) -> None:
        self._headers.pop("Authorization", None)
        self._renew_at = math.inf
        session = self.send_json("POST", "/api/auth/exchange", {"key": self._publisher_key}).document
        self._headers["Authorization"] = f"Bearer {session['accessToken']}"
        # A large upload on a slow line takes longer than half an hour (C-TOK-1).
        self._renew_at = monotonic() + session["expiresInSeconds"] / 2

    def _exchange(self, method: str, path: str, body: Any, headers: Mapping[str, Any]) -> Answer:
        if monotonic() > self._renew_at:
            self._begin_session()
        sent = {name: value for name, value in headers.items() if name != "X-Api-Key"}
        return super()._exchange(method, path, body, sent | self._headers)

    def send_json(self, method: str, path: str, document: Mapping[str, Any]) -> Answer:
        """Send a JSON document; raise for an error."""
        return self.call(method, path, io.BytesIO(json.dumps(document).encode()), "application/json")

    def create_mod(self, title: str, repeat_key: str) -> dict[str, Any]:
        """Create a draft. With the same ``repeat_key`` it is the same one, for a day (C-OWN-31)."""
        self._headers["Idempotency-Key"] = repeat_key
        try:
            return dict(self.send_json("POST", "/api/modhub", {"title": title}).document)
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
            raise Failure(REJECTED, "The service is older than this program: it lists no files of drafts.")
        if answer.status != 200:
            raise failure_of(answer)
        files: list[dict[str, Any]] = answer.document["files"]
        return files

    def upload(self, path: str, file: Path, query: Mapping[str, str]) -> Answer:
        """Upload a file; the answer may be an error."""
        with file.open("rb") as opened:
            return self.send_twice("POST", f"{path}?{urlencode(query)}", opened, guess_media_type(file.name), file.name)

    def find_guid(self, reference: str) -> str:
        """The GUID of a mod by its GUID, its number or the address of its page: one's own, or a published one."""
        mod_id = read_mod_number(reference, self.url)
        if mod_id is None:
            return reference.strip()
        guids = [mod["guid"] for mod in self.read_own_mods() if mod["id"] == mod_id]
        return str(guids[0] if guids else self.call("GET", f"/api/modhub/{mod_id}").document["guid"])


def read_mod_number(reference: str, url: str) -> int | None:
    """The number in a number or in a page's address; None for a GUID. Other services than ``url`` are refused."""
    text = reference.strip()
    if _GUID.fullmatch(text):
        return None
    page = _PAGE.fullmatch(text.removeprefix(url))
    if page or _NUMBER.fullmatch(text):
        return int(page[1] if page else text)
    if text.startswith(("http://", "https://")):
        raise Failure(USAGE_ERROR, f"{text} is no page of a mod on {url}.")
    raise Failure(USAGE_ERROR, f"{text} is neither a GUID, nor a number, nor the address of a mod's page.")


def find_own(mods: Sequence[dict[str, Any]], reference: str, mod_id: int | None) -> dict[str, Any]:
    """The mod of this number, or of this GUID if that is None."""
    guid = reference.strip().lower()
    for mod in mods:
        if mod["id"] == mod_id or (mod_id is None and mod["guid"].lower() == guid):
            return mod
    raise Failure(KEY_REJECTED, f"The key is not for the mod {reference}.")


def sha256_of(file: Path) -> str:
    """The digest of a file, in hex."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
