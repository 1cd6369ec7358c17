"""Adds extreme cases to the seeded mods, for the pages: many requirements, changelog entries, images, wiki pages."""

import http.client
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import insert, select

from modhub.catalogue.models import Asset, Game, Mod, Note
from modhub.content.folding import fold_game
from modhub.db import now
from modhub_downloads.models import ModDownloads

KEY = "bench-key"
MANY_REQUIREMENTS, MUCH_REQUIRED, LONG_CHANGELOG, WITH_IMAGES, PLAIN = 1200, 1300, 1400, 1500, 2000
"""Mod ids: with 50 requirements, required by thousands, with 500 changelog entries, with images, and a plain one."""
OWNED_MODS = 300
"""Mods of the account that signs in."""
ENTRIES = 500
WIKI = 60
BUILDS = 30
_TOKEN = re.compile(rb'name="csrf_token" value="([^"]+)"')
_PASSWORD = "a long password"


def fill(databases: Any, mods: int) -> None:
    """Add requirements, changelog entries, images, downloads and curated games to the ``mods`` seeded mods."""
    if mods < 2 * PLAIN:
        raise SystemExit(f"the pages need at least {2 * PLAIN} mods")
    with databases.write_session.begin() as session:
        session.add_all(Game(name=name, folded=fold_game(name)) for name in ("Portal", "Portal 2", "Café Racer"))
        session.add_all(Game(name=f"Game {at}", folded=f"game {at}") for at in range(30))
        session.execute(
            insert(Note),
            [
                {
                    "mod_id": LONG_CHANGELOG,
                    "version": f"v{at}",
                    "size": 1,
                    "sha256": "0" * 64,
                    "title": f"v{at}",
                    "text": "<p>Many a small thing.</p>",
                    "created_at": now(),
                }
                for at in range(ENTRIES)
            ],
        )
        counted = [{"mod_id": number, "downloads": 1 + number % 977} for number in range(1, mods + 1, 3)]
        session.execute(insert(ModDownloads), counted)
        blob_ids = session.scalars(select(Asset.blob_id).where(Asset.mod_id == WITH_IMAGES)).all()
        session.add_all(
            Asset(
                mod_id=WITH_IMAGES, kind="image", name="a.png", content_type="image/png", blob_id=id_, stored_at=now()
            )
            for id_ in [*blob_ids] * 6
        )
    for first in range(PLAIN, mods, 1000):
        with databases.write_session.begin() as session:
            for mod in session.scalars(select(Mod).where(Mod.id > first, Mod.id <= first + 1000, Mod.id % 3 == 0)):
                mod.requires = [str(uuid.UUID(int=MUCH_REQUIRED))]
    with databases.write_session.begin() as session:
        session.get_one(Mod, MANY_REQUIREMENTS).requires = [str(uuid.UUID(int=PLAIN + 1 + at)) for at in range(50)]


def give_mods(databases: Any, account: int) -> None:
    """Give ``account`` many of the mods."""
    with databases.write_session.begin() as session:
        for mod in session.scalars(select(Mod).where(Mod.id > PLAIN, Mod.id <= PLAIN + OWNED_MODS)):
            mod.owner = account


@dataclass
class Visitor:
    """A visitor with cookies; a slow and simple client for setting up."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        """Send a request and store cookies. Returns the response body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"Cookie": self.cookie, **headers})
        response = connection.getresponse()
        for line in response.headers.get_all("Set-Cookie", []):
            name, _, rest = line.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        content = response.read()
        connection.close()
        if response.status >= 400:
            raise AssertionError(f"{method} {path} returned {response.status}")
        return content

    @property
    def cookie(self) -> str:
        """The value of the Cookie header."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def sign_in(self) -> int:
        """Create an account and sign in on the pages. Returns the account's id."""
        fields = {"email": "bench@example.org", "password": _PASSWORD}
        account = json.loads(self.send("POST", "/api/auth/register", json.dumps(fields).encode()))
        token = _TOKEN.search(self.send("GET", "/Modhub/account/login"))
        assert token is not None
        form = urlencode({**fields, "csrf_token": token[1].decode()}).encode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self.send("POST", "/Modhub/account/login", form, **headers)
        return int(account["accountId"])

    def publish(self) -> None:
        """Publish wiki pages and app builds, as a build agent does."""
        key = {"X-Api-Key": KEY}
        text = "# A page\n\nWords.\n\n" + "## Part\n\nMore *words* and `code`.\n\n" * 20
        for path in ("index", *(f"guide/page-{at}" for at in range(WIKI))):
            self.send("PUT", f"/Modhub/api/wiki/{path}", text.encode(), **key)
        for at in range(BUILDS):
            system = ("windows", "linux", "macos")[at % 3]
            self.send("POST", f"/api/modhub/app/{system}?version=1.{at}", b"build", **key)
            self.send("POST", "/api/modhub/app/changelog", f"1.{at}\n\nMended things.".encode(), **key)
