"""The mod that the checks of the part ``own`` share: a draft, then published, then deleted, once in a run."""

import hashlib
import time
from collections.abc import Mapping
from typing import Any, Final

from modhub_client.verify.owner import Owner, owner_of
from modhub_client.verify.replies import Reply, Skipped
from modhub_client.verify.run import Run

PUBLIC_SECONDS: Final = 25.0
"""After these no further check looks at the published mod, so that it is public for less than a minute."""
PNG: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fccfc0500f000485018084a98c"
    "210000000049454e44ae426082"
)
"""An image of one pixel."""
CODE_NAME: Final = "Überflug 1.zip"
CODE_QUERY: Final = "name=%C3%9Cberflug%201.zip&version=final"


class OwnMod:
    """The mod and a second draft that stays one. What a check needs is made when the first one asks for it."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.created: Reply | None = None
        self.published: Reply | None = None
        self.removed: Reply | None = None
        self.files: dict[str, dict[str, Any]] = {}
        self.caption = f'"><b>{owner.nonce}</b>'
        self.title = f"{owner.mark} <i>Ångström</i> & Straße"
        self.content = f"code of {owner.mark}\n".encode() * 100
        self._drafts: dict[str, dict[str, Any]] = {}
        self._public_since = 0.0

    @property
    def digest(self) -> str:
        """The SHA-256 of the code file."""
        return hashlib.sha256(self.content).hexdigest()

    def _draft(self, name: str) -> dict[str, Any]:
        if name not in self._drafts:
            reply = self.owner.create({}, title=name)
            if self.created is None:
                self.created = reply
            if reply.status != 201:
                raise Skipped(f"the service makes no mod ({reply.status} {reply.error})")
            self._drafts[name] = reply.document()
        return self._drafts[name]

    @property
    def draft(self) -> dict[str, Any]:
        """The mod as it was created; `Skipped` once it is published."""
        if self.published is not None:
            raise Skipped("the mod of this run is published already")
        return self._draft("mod")

    @property
    def other(self) -> dict[str, Any]:
        """A second draft, which is never published."""
        return self._draft("other")

    @property
    def id(self) -> int:
        """The number of the mod."""
        number: int = self._draft("mod")["id"]
        return number

    @property
    def guid(self) -> str:
        """The GUID of the mod."""
        return str(self._draft("mod")["guid"])

    def path(self, rest: str = "") -> str:
        """The address of the mod in the API."""
        return f"/api/modhub/{self.id}{rest}"

    def call(self, method: str, rest: str = "", value: Any = None, **options: Any) -> Reply:
        """A call of its owner at the mod or below it."""
        return self.owner.call(method, self.path(rest), value, **options)

    def edit(self, fields: Mapping[str, Any], **headers: str) -> Reply:
        """``PUT`` of the draft."""
        _ = self.draft
        return self.call("PUT", "", fields, headers=headers)

    def edited(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The draft after an edit that is expected to work."""
        return self.edit(fields).expect_document()

    def now(self) -> dict[str, Any]:
        """The mod as its owner's list has it."""
        return next((mod for mod in self.owner.mine() if mod["id"] == self.id), {})

    def upload(self, kind: str, content: bytes, query: str = "", **headers: str) -> Reply:
        """Upload a file."""
        sent = {"Content-Type": "application/octet-stream", **headers}
        return self.call("POST", f"/{kind}?{query}", body=content, headers=sent)

    def read_files(self) -> list[dict[str, Any]]:
        """The files as their owner sees them."""
        files: list[dict[str, Any]] = self.call("GET", "/files").expect_document()["files"]
        return files

    def publish(self) -> Reply:
        """Publish the mod, with what the checks of the published one look for; once."""
        if self.published is None:
            self._fill()
            self._public_since = time.monotonic()
            self.published = self.call("POST", "/publish")
        return self.published

    @property
    def public(self) -> dict[str, Any]:
        """The published mod. `Skipped` if it could not be published, or was public long enough."""
        reply = self.publish()
        if reply.status != 200:
            raise Skipped("the mod could not be published")
        if self.removed is not None:
            raise Skipped("the mod of this run is deleted already")
        if time.monotonic() - self._public_since > PUBLIC_SECONDS:
            self.delete()
            raise Skipped("the mod was public long enough, so it was deleted")
        return reply.document()

    def delete(self) -> Reply:
        """Delete the mod, once."""
        if self.removed is None:
            self.removed = self.owner.remove(self.id)
        return self.removed

    @property
    def gone(self) -> dict[str, Any]:
        """The mod as it was published; it is deleted now. `Skipped` if that was not possible."""
        if self.publish().status != 200 or self.delete().status != 204:
            raise Skipped("the mod could not be published and deleted")
        return self.publish().document()

    def _fill(self) -> None:
        nonce = self.owner.nonce
        fields = {
            "title": self.title,
            "description": f"<p>About <strong>{nonce}</strong></p>",
            "games": [f"Game {nonce}", f"Game {nonce} 2"],
            "requires": [self.other["guid"]],
            "conflictsWith": [],
        }
        self.call("PUT", "", fields)
        for file in self.read_files():
            if file["kind"] == "image":
                self.call("DELETE", f"/images/{file['assetId']}")
        self.upload("code", self.content, CODE_QUERY, **{"Content-Type": "application/zip"})
        self.upload("css", b"body { color: red }", "name=style.css", **{"Content-Type": "text/css"})
        for name in ("first.png", "second.png"):
            self.upload("images", PNG, f"name={name}", **{"Content-Type": "image/png"})
        self.files = {file["name"]: file for file in self.read_files()}
        image = self.files.get("first.png")
        if image is not None:
            captions = [{"assetId": image["assetId"], "caption": self.caption}]
            self.call("PUT", "/captions", {"captions": captions})


def mod_of(run: Run) -> OwnMod:
    """The mod of this run; `Skipped` if no account was given that may delete it."""
    owner = owner_of(run)
    owner.require_whole()
    if "own mod" not in run.notes:
        run.notes["own mod"] = OwnMod(owner)
    mod: OwnMod = run.notes["own mod"]
    return mod
