"""A stand-in for a service with mods, and a connection to it that fails in many ways."""

import hashlib
import json
import random
import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

import pytest
from pyramid.request import Request
from pyramid.response import Response

from modhub_client.get import service
from modhub_client.get.installation import PRIVATE
from modhub_client.get.lockfile import LockEntry, build_lock
from modhub_client.get.main import main
from modhub_testing.lines import Relay
from modhub_testing.running_server import running


@dataclass
class FakeMod:
    """A mod of the stand-in; ``name``, ``url`` and ``size`` may be lies."""

    id: int
    guid: str
    content: bytes
    version: str = "1"
    requires: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    name: str = "mod.zip"
    url: str = ""
    size: int = 0
    title: str = ""
    uploaded_at: str = "2026-11-21T08:15:30.123456Z"

    @property
    def sha256(self):
        return hashlib.sha256(self.content).hexdigest()

    @property
    def document(self):
        asset = {
            "kind": "code",
            "name": self.name,
            "bytes": self.size or len(self.content),
            "url": self.url or f"/Modhub/file/{self.id}",
        }
        listed = {"requires": list(self.requires), "conflictsWith": list(self.conflicts)}
        return {
            "id": self.id,
            "guid": self.guid,
            "title": self.title or f"Mod {self.id}",
            "version": self.version,
            "games": ["Portal 2"],
            "url": f"/Modhub/{self.id}",
            "updatedAt": "2026-11-21T08:15:30.123456Z",
            "assets": [asset],
            **listed,
        }


def guid_of(number):
    return str(uuid5(NAMESPACE_URL, str(number)))


@dataclass
class FakeService:
    """The calls that modhub-get uses. ``changed(path, answer)`` may damage what it says; ``asked`` is what it heard."""

    port: int = 0
    mods: dict[str, FakeMod] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    advisories: dict[str, dict[str, Any]] | None = None
    """By SHA-256; None: a service that has no advisories."""
    asked_for_advisories: list[str] = field(default_factory=list)
    mods_at_once: int = 500
    changed: Callable[[str, Any], Any] | None = None
    served: Callable[[FakeMod, dict[str, str]], tuple[int, dict[str, str], bytes] | None] | None = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def add(self, number, content=b"", **values):
        fields = {"requires": tuple(guid_of(required) for required in values.pop("requires", ()))}
        mod = FakeMod(number, guid_of(number), content or b"content %d " % number * 50, **{**fields, **values})
        self.mods[mod.guid] = mod
        return mod

    @property
    def fetched(self):
        """The requests for files."""
        return [call for call, _ in self.asked if "/Modhub/file" in call]

    def plan(self, body):
        order = {}
        missing = {}

        def walk(guid, because):
            if guid not in self.mods:
                missing.setdefault(guid, []).extend(because[-1:])
            elif guid not in order and guid not in because:
                for required in self.mods[guid].requires:
                    walk(required, (*because, guid))
                order[guid] = because

        assert len(body["want"]) <= 500
        for guid in body["want"]:
            walk(guid, ())
        have = {entry["guid"]: entry["sha256"] for entry in body["have"]}
        every = {*order, *have}
        conflicts = [
            {"pair": [{"guid": guid, "because": []}, {"guid": other, "because": []}]}
            for guid in sorted(every & self.mods.keys())
            for other in self.mods[guid].conflicts
            if other in every
        ]
        steps = [
            {
                "guid": guid,
                "action": self.action(guid, have),
                "because": list(path),
                "uploadedAt": self.mods[guid].uploaded_at,
            }
            for guid, path in order.items()
        ]
        mods = [self.mods[guid] for guid in order]
        return {
            "steps": steps,
            "conflicts": conflicts,
            "conflictsTotal": len(conflicts),
            "missing": [{"guid": guid, "requiredBy": by} for guid, by in missing.items() if guid not in have],
            "stillInstalled": [guid for guid in missing if guid in have],
            "bytes": sum(len(mod.content) for mod in mods),
            "lock": build_lock(LockEntry(mod.guid, mod.version, mod.sha256) for mod in mods),
        }

    def action(self, guid, have):
        if guid not in have:
            return "install"
        return "keep" if have[guid] == self.mods[guid].sha256 else "update"

    def lookup(self, body):
        known = [guid for guid in body["guids"] if guid in self.mods]
        mods = [self.mods[guid].document for guid in known[: self.mods_at_once]]
        rest = {"more": known[self.mods_at_once :]} if known[self.mods_at_once :] else {}
        return {"mods": mods, "missing": [guid for guid in body["guids"] if guid not in self.mods], **rest}

    def updates(self, body):
        assert len(body["have"]) <= 500
        known = [entry for entry in body["have"] if entry["guid"] in self.mods]
        changed = [entry["guid"] for entry in known if self.mods[entry["guid"]].sha256 != entry["sha256"]]
        return {
            "changed": [{"guid": guid, "version": self.mods[guid].version} for guid in changed],
            "gone": [entry["guid"] for entry in body["have"] if entry["guid"] not in self.mods],
            "same": len(known) - len(changed),
        }

    def check(self, body):
        def state(entry):
            mod = self.mods.get(entry["guid"])
            return "gone" if mod is None else "same" if mod.sha256 == entry["sha256"] else "replaced"

        return {"entries": [{"guid": entry["guid"], "state": state(entry)} for entry in body["lock"]["entries"]]}

    def advise(self, mod, **fields):
        """Warn of the file of a mod."""
        told = {"kind": "malware", "reason": "It steals.", "advice": "Delete it.", "withdrawnAt": None, **fields}
        self.advisories = {**(self.advisories or {}), mod.sha256: {"sha256": mod.sha256, **told}}

    def warn(self, prefix):
        """The advisories of a prefix, or all."""
        self.asked_for_advisories.append(prefix)
        if self.advisories is None:
            return {"error": "not_found", "message": "Nothing was found."}
        return {"advisories": [told for told in self.advisories.values() if told["sha256"].startswith(prefix)]}

    def read(self, name):
        """The mod with this number, or ``guid/`` and GUID."""
        return next((mod for mod in self.mods.values() if name in {str(mod.id), f"guid/{mod.guid}"}), None)

    def answer(self, path, body):
        calls = {"/plan": self.plan, "/plan/check": self.check, "/lookup": self.lookup, "/updates": self.updates}
        name = path.removeprefix("/api/modhub").lstrip("/")
        if name.startswith("advisories"):
            document = self.warn(name.removeprefix("advisories").lstrip("/"))
        elif body is None and (name.isdigit() or name.startswith("guid/")):
            mod = self.read(name)
            document = mod.document if mod else {"error": "not_found", "message": "Nothing was found."}
        elif body is None:
            mods = [mod.document for mod in self.mods.values()]
            document = {"count": len(mods), "total": len(mods), "page": 1, "size": 20, "more": False, "mods": mods}
        else:
            document = calls[path.removeprefix("/api/modhub")](body)
        return self.changed(path, document) if self.changed else document

    def file(self, path, headers):
        mod = next((mod for mod in self.mods.values() if path == f"/Modhub/file/{mod.id}"), None)
        if mod is None:
            return 404, {}, b"{}"
        if self.served and (replacement := self.served(mod, headers)):
            return replacement
        etag, size = f'"{mod.sha256}"', len(mod.content)
        stated = f'filename="{mod.name}"' if mod.name.isascii() else f"filename*=UTF-8''{quote(mod.name)}"
        shown = {"ETag": etag, "Content-Disposition": f"attachment; {stated}"}
        if headers.get("If-Match", etag) != etag:
            return 412, {}, b"{}"
        byte_range = re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))
        if byte_range and headers.get("If-Range") == etag:
            start = int(byte_range[1])
            return 206, {**shown, "Content-Range": f"bytes {start}-{size - 1}/{size}"}, mod.content[start:]
        return 200, shown, mod.content

    def __call__(self, environ, start_response):
        """WSGI."""
        request = Request(environ)
        if not request.path.startswith("/api/modhub/advisories"):
            self.asked.append((f"{request.method} {request.path_qs}", dict(request.headers)))
        status, headers = 200, {}
        if request.path.startswith("/Modhub/file/"):
            status, headers, content = self.file(request.path, dict(request.headers))
        else:
            answer = self.answer(request.path, request.json if request.body else None)
            status = 404 if isinstance(answer, dict) and answer.get("error") == "not_found" else 200
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        response = Response(content, status)
        response.headers.update(headers)
        return response(environ, start_response)


class BadLine(Relay):
    """A connection to the service that ends after ``cut`` bytes, changes bytes now and then, and answers 503 at times.

    ``flip``: the average distance in bytes between changes; ``busy``: the part of the requests that get a 503.
    """

    def __init__(self, port, seed, *, cut=0, flip=0, busy=0.0):
        self.cut, self.flip, self.busy = cut, flip, busy
        self._random = random.Random(seed)
        super().__init__(port)

    def request(self, data, client):
        if self._random.random() < self.busy:
            client.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n")
            return None
        return data

    def answer(self, data, passed):
        left = self.cut - passed if self.cut else len(data) + 1
        return self._flipped(data[:left]), left > len(data)

    def _flipped(self, data):
        if self.flip and self._random.random() < len(data) / self.flip:
            at = self._random.randrange(len(data))
            return data[:at] + bytes([data[at] ^ (1 << self._random.randrange(8))]) + data[at + 1 :]
        return data


@pytest.fixture
def fake(monkeypatch):
    """A stand-in service without mods; waiting between attempts is short."""
    monkeypatch.setattr(service, "FIRST_WAIT", 0.001)
    made = FakeService()
    with running(made, threads=8) as server:
        made.port = server.addresses[0][1]
        yield made


def renew(*mods):
    """Replace their files by a version 2."""
    for mod in mods:
        mod.content, mod.version = b"newer %d" % mod.id, "2"


def files(folder):
    """The files of the mods, by ``guid/name``."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and PRIVATE not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def expected(*mods):
    """`files` of a folder with these mods."""
    return {f"{mod.guid}/{mod.name}": mod.content for mod in mods}


@pytest.fixture
def folder(tmp_path):
    """Where modhub-get installs."""
    return tmp_path / "mods"


@dataclass
class Runs:
    """`run(0, "install", …)`: the JSON of a command that must end with this code. ``told`` is what it told people."""

    url: str
    folder: Path
    capsys: pytest.CaptureFixture[str]
    told: str = ""

    def __call__(self, code, *words, url=""):
        self.capsys.readouterr()
        asks_only = words[0] == "search" or (words[0] == "show" and not self.folder.exists())
        into = [] if asks_only else ["--into", str(self.folder)]
        assert main(["--json", "--url", url or self.url, *words, *into]) == code, self.capsys.readouterr()
        printed = self.capsys.readouterr()
        self.told = printed.err
        return json.loads(printed.out)

    def install(self, *mods):
        """Install them, as must succeed."""
        return self(0, "install", *(mod.guid for mod in mods))


@pytest.fixture
def run(fake, folder, capsys):
    return Runs(fake.url, folder, capsys)


@pytest.fixture
def install(fake, folder):
    """`install(mod, …, url=…)`: the exit code."""

    def call(*mods, url="", options=()):
        words = ["--url", url or fake.url, "install", *(mod.guid for mod in mods), "--into", str(folder), *options]
        return main(words)

    return call


@pytest.fixture
def bad_line(fake):
    """`bad_line(seed, cut=…, flip=…, busy=…)`: a connection to ``fake`` that fails."""
    with ExitStack() as opened:

        def make(seed, *, port=0, **faults):
            line = BadLine(port or fake.port, seed, **faults)
            opened.callback(line.close)
            return line

        yield make
