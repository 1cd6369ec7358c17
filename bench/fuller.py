"""What a page can have most of: put on top of the seeded mods, through the same models and addresses as people use."""

import http.client
import json
import re
import uuid
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import insert, select

from modhub.catalogue.models import Asset, Game, Mod, Note
from modhub.db import now
from modhub.folding import fold_game

KEY = "bench-key"
NEEDY, MUCH_USED, STORIED, PICTURED, PLAIN = 1200, 1300, 1400, 1500, 2000
"""Mods with 50 requirements, with thousands that use them, with 500 changelog entries, with images; and a plain one."""
OWN = 300
"""Mods of the account that signs in."""
ENTRIES = 500
WIKI = 60
BUILDS = 30
_TOKEN = re.compile(rb'name="csrf_token" value="([^"]+)"')
_PASSWORD = "a long password"


def fill(databases: Any, mods: int) -> None:
    """Requirements, entries, images and curated games; ``mods`` is how many the seed has made."""
    if mods < 2 * PLAIN:
        raise SystemExit(f"the pages need at least {2 * PLAIN} mods")
    with databases.write_session.begin() as session:
        session.add_all(Game(name=name, folded=fold_game(name)) for name in ("Portal", "Portal 2", "Café Racer"))
        session.add_all(Game(name=f"Game {at}", folded=f"game {at}") for at in range(30))
        session.execute(
            insert(Note),
            [
                {
                    "mod_id": STORIED,
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
        pictures = session.scalars(select(Asset.blob_id).where(Asset.mod_id == PICTURED)).all()
        session.add_all(
            Asset(mod_id=PICTURED, kind="image", name="a.png", content_type="image/png", blob_id=blob, stored_at=now())
            for blob in [*pictures] * 6
        )
    for first in range(PLAIN, mods, 1000):
        with databases.write_session.begin() as session:
            for mod in session.scalars(select(Mod).where(Mod.id > first, Mod.id <= first + 1000, Mod.id % 3 == 0)):
                mod.requires = [str(uuid.UUID(int=MUCH_USED))]
    with databases.write_session.begin() as session:
        session.get_one(Mod, NEEDY).requires = [str(uuid.UUID(int=PLAIN + 1 + at)) for at in range(50)]


def own(databases: Any, account: int) -> None:
    """Give ``account`` many of the mods."""
    with databases.write_session.begin() as session:
        for mod in session.scalars(select(Mod).where(Mod.id > PLAIN, Mod.id <= PLAIN + OWN)):
            mod.owner = account


@dataclass
class Visitor:
    """Somebody with a browser's cookies, slow and simple: for what is done once."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
        """The answer's body; cookies are kept."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"Cookie": self.cookie, **headers})
        answer = connection.getresponse()
        for line in answer.headers.get_all("Set-Cookie", []):
            name, _, rest = line.partition("=")
            self.cookies[name] = rest.partition(";")[0]
        found = answer.read()
        connection.close()
        if answer.status >= 400:
            raise AssertionError(f"{method} {path} answered {answer.status}")
        return found

    @property
    def cookie(self) -> str:
        """The header's value."""
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def sign_in(self) -> int:
        """Make an account, sign in on the pages; the account's number."""
        fields = {"email": "bench@example.org", "password": _PASSWORD}
        made = json.loads(self.send("POST", "/api/auth/register", json.dumps(fields).encode()))
        token = _TOKEN.search(self.send("GET", "/Modhub/account/login"))
        assert token is not None
        form = urlencode({**fields, "csrf_token": token[1].decode()}).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        self.send("POST", "/Modhub/account/login", form, **kind)
        return int(made["accountId"])

    def publish(self) -> None:
        """Wiki pages and app builds, as a build agent does."""
        key = {"X-Api-Key": KEY}
        text = "# A page\n\nWords.\n\n" + "## Part\n\nMore *words* and `code`.\n\n" * 20
        for path in ("index", *(f"guide/page-{at}" for at in range(WIKI))):
            self.send("PUT", f"/Modhub/api/wiki/{path}", text.encode(), **key)
        for at in range(BUILDS):
            system = ("windows", "linux", "macos")[at % 3]
            self.send("POST", f"/api/modhub/app/{system}?version=1.{at}", b"build", **key)
            self.send("POST", "/api/modhub/app/changelog", f"1.{at}\n\nMended things.".encode(), **key)
