"""``modhub-publish mod``: brings a mod on the service to the state of a release, and changes nothing else."""

import argparse
import hashlib
import html
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from modhub_publish.publish import (
    KEY_REJECTED,
    REJECTED,
    USAGE_ERROR,
    Answer,
    Failure,
    ServiceClient,
    failure_of,
    guess_media_type,
    say,
)
from modhub_publish.releases import ServiceReader


class Publisher(ServiceReader):
    """A client with a publisher key, which it exchanges for a session."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, "")
        self._token = ""
        body = io.BytesIO(json.dumps({"key": key}).encode())
        self._token = str(self.call("POST", "/api/auth/exchange", body, "application/json").document["accessToken"])

    def _exchange(self, method: str, path: str, body: Any, headers: Mapping[str, Any]) -> Answer:
        sent = {name: value for name, value in headers.items() if name != "X-Api-Key"}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        return super()._exchange(method, path, body, sent)

    def upload(self, path: str, file: Path, query: Mapping[str, str]) -> Answer:
        """Upload a file. Of all errors only a 409 for the same bytes is returned."""
        media_type = guess_media_type(file.name)
        with file.open("rb") as opened:
            answer = self._send("POST", f"{path}?{urlencode(query)}", opened, media_type, file.name)
        document = answer.document
        same = document.get("error") == "version_used" and document.get("sha256") == sha256_of(file)
        if answer.status != 201 and not same:
            raise failure_of(answer)
        return answer


class ModRelease:
    """The steps of one run, and what they changed."""

    def __init__(self, service: Publisher, arguments: argparse.Namespace) -> None:
        self._service = service
        self._arguments = arguments
        self._path = f"/api/modhub/{arguments.id}"
        mods = service.call("GET", "/api/modhub/mine").document["mods"]
        own_mod = next((mod for mod in mods if mod["id"] == arguments.id), None)
        if own_mod is None:
            raise Failure(KEY_REJECTED, f"The key is not for the mod {arguments.id}.")
        self.mod: dict[str, Any] = own_mod
        self.changed: list[str] = []
        self.unchanged: list[str] = []

    def run(self) -> None:
        """All steps; the files first, so that a failure publishes nothing."""
        arguments = self._arguments
        if arguments.changelog is not None and not (arguments.publish or self.mod["published"]):
            raise Failure(USAGE_ERROR, "--changelog needs a published mod: add --publish.")
        self._send_code()
        if arguments.css is not None:
            self._send_file("css", "css", arguments.css)
        for image in arguments.image:
            self._send_file("image", "images", image)
        if arguments.publish:
            if not self.mod["published"]:
                self._service.call("POST", f"{self._path}/publish")
            self._note("published", changed=not self.mod["published"])
        if arguments.changelog is not None:
            self._send_changelog(arguments.changelog)

    def _note(self, what: str, *, changed: bool) -> None:
        (self.changed if changed else self.unchanged).append(what)

    def _send_code(self) -> None:
        file, version = self._arguments.file, self._arguments.version
        if self.mod["version"] == version and self._is_same("code", file):
            self._note(f"code {version}", changed=False)
            return
        answer = self._service.upload(f"{self._path}/code", file, {"name": file.name, "version": version})
        self._note(f"code {version}", changed=answer.status == 201)

    def _is_same(self, kind: str, file: Path) -> bool:
        """Whether the mod has a file with these bytes. The service shows a draft's to nobody: nothing is like it."""
        return self.mod["published"] and any(
            asset["kind"] == kind
            and asset["bytes"] == file.stat().st_size
            and self._service.digest_of(asset["url"]) == sha256_of(file)
            for asset in self.mod["assets"]
        )

    def _send_file(self, kind: str, collection: str, file: Path) -> None:
        is_same = self._is_same(kind, file)
        if not is_same:
            replaced = file.name if kind == "image" else None
            if not self.mod["published"]:
                # Nobody sees the gap, and both may be more than all images of a mod may have.
                self._remove_images(replaced)
            self._service.upload(f"{self._path}/{collection}", file, {"name": file.name})
            if self.mod["published"]:
                self._remove_images(replaced)
        self._note(f"{kind} {file.name}", changed=not is_same)

    def _remove_images(self, name: str | None) -> None:
        """Remove the images that a new one of the same name replaces."""
        for asset in self.mod["assets"]:
            if asset["kind"] == "image" and asset["name"] == name:
                self._service.remove(f"{self._path}/images/{asset['url'].rpartition('/')[2]}")

    def _send_changelog(self, text: str) -> None:
        notes = self._service.call("GET", f"{self._path}/changelog").document["notes"]
        note = next((entry for entry in notes if entry["title"] == self._arguments.version), None)
        if note is None:
            raise Failure(REJECTED, "The changelog has no entry for this version.")
        changed = html.unescape(note["text"]).strip() != html.unescape(text).strip()
        if changed:
            body = io.BytesIO(json.dumps({"text": text}).encode())
            self._service.call("PUT", f"{self._path}/changelog/{note['id']}", body, "application/json")
        self._note("changelog", changed=changed)


def sha256_of(file: Path) -> str:
    """The digest of a file, in hex."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def release_mod(client: ServiceClient, arguments: argparse.Namespace) -> None:
    """``mod ID FILE --version V``"""
    for file in (arguments.file, *arguments.image, *([arguments.css] if arguments.css else [])):
        if not os.access(file, os.R_OK):
            raise Failure(USAGE_ERROR, f"{file} cannot be read.")
    service = Publisher(client.url, client.key)
    release = ModRelease(service, arguments)
    release.run()
    if arguments.json:
        facts = {"mod": arguments.id, "version": arguments.version, "changed": release.changed}
        say(json.dumps({**facts, "unchanged": release.unchanged, "url": f"{service.url}/Modhub/{arguments.id}"}))
        return
    for word, steps in (("Done", release.changed), ("Unchanged", release.unchanged)):
        for step in steps:
            say(f"{word}: {step}")
