"""Records the data that upgrades are tested with: ``python tests/functional/upgrades/record.py > NAME.json``.

Fills every table through the service of the checked-out code, then writes rows, files and revisions as JSON. Run it
at a release, never over an existing file: `test_upgrade.py` upgrades each of them to the newest schema.
"""

import json
import sqlite3
import sys
import tempfile
from base64 import b64encode
from contextlib import closing
from pathlib import Path
from typing import Any

import pyotp
import transaction

import modhub
from modhub import db
from modhub.base.service_registry import find_service
from modhub.blobs.holds import FileHold, HoldPurpose
from modhub.catalogue.models import DescriptionSource, NoteSource, Successor
from modhub.catalogue.pictures.models import PictureTask
from modhub.db import Databases
from modhub.workers.models import Lease
from modhub_auth.container import AuthServices
from modhub_auth.models import Login, Nonce, PageSession, ResetRequest
from modhub_auth.publisher_keys import create_key
from modhub_auth.signin import totp
from modhub_downloads.models import PopularMod, PopularState
from modhub_following.models import Frequency, Pending, TargetKind, UploadedVersion
from modhub_following.services import Target, choose_frequency, follow
from modhub_profiles.models import AuthorProfile
from modhub_testing.caller import Caller
from modhub_testing.service import SERVICE_SECRET, Installation

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"
)
OF_MODERATORS = {"core_evidence", "core_kept_file", "core_reserved_version", "profiles_kept_picture"}
"""Only decisions of moderators fill these."""
KEY = "machine-key-of-the-upgrade-fixture-0001"
ADDRESS_KEY = "address-key-of-the-upgrade-fixture-0001"
SETTINGS = {
    "ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki",
    "modhub.storage_address_key": ADDRESS_KEY,
    # Nobody listens there: the emails stay where they wait.
    "mail.host": "127.0.0.1",
    "mail.port": "1",
}
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
PICTURE = Path(modhub.__file__).parent / "catalogue/sample_files/overlay-kit.png"
ABSENT = "ABCDEF01-2345-6789-ABCD-EF0123456789"
TOTP = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def catalogue(owner: Caller, reader: Caller) -> None:
    """Two published mods and a draft: a replaced file, a requirement, votes, edited changelogs, tags, a download."""
    needed = owner.published("Needed Café", b"needed", games=["Portal 2"])
    owner.send_file(needed["id"], "images", PICTURE.read_bytes(), "image/png", name="kit.png")
    mod = owner.new_mod(
        "Upgraded",
        description="<p>A <b>mod</b></p>",
        games=["Portal", "Half-Life"],
        requires=[needed["guid"].upper(), ABSENT],
        conflictsWith=["11111111-2222-3333-4444-555555555555"],
    )
    number = mod["id"]
    for version in ("1.0", "1.1"):
        sent = owner.send_file(number, "code", f"code {version}".encode(), version=version, name="café.zip")
        assert sent.status == 201, sent
    owner.send_file(number, "css", b"body { color: red }", "text/css", name="look.css")
    owner.send_file(number, "images", PNG, "image/png", name="shot.png")
    owner.need(200, "POST", f"/api/modhub/{number}/publish")
    entry = owner.need(200, "GET", f"/api/modhub/{number}/changelog")["notes"][1]["id"]
    owner.need(200, "PUT", f"/api/modhub/{number}/changelog/{entry}", {"title": "First", "text": "<b>new</b>"})
    reader.need(200, "PUT", f"/api/modhub/{number}/vote", {"value": 1})
    owner.need(200, "PUT", f"/api/modhub/{number}/tags", {"tags": ["map", "timer"]})
    owner.need(200, "PUT", f"/api/modhub/{number}/links", {"source": "https://example.org/code", "license": "MIT"})
    owner.new_mod("A draft", description="not yet")
    assert owner.ask("POST", "/api/modhub", {"title": "Once"}, {"Idempotency-Key": "once"}).status == 201
    assert reader.ask("GET", f"/api/modhub/{number}/download").status == 200


def machines(caller: Caller) -> None:
    """Builds, changelog sections, wiki pages (one changed, one deleted) and the storage machine's address."""
    key = {"X-Api-Key": KEY}
    for os_name, version in (("windows", "1"), ("windows", "2"), ("linux", "2")):
        address = f"/api/modhub/app/{os_name}?version={version}"
        assert caller.ask("POST", address, f"{os_name} {version}".encode(), key).status == 201
    for section in ("1\n- First", "2\n- Second"):
        assert caller.ask("POST", "/api/modhub/app/changelog", section.encode(), key).status == 201
    for path, text in (("index", "# Home"), ("a/b", "# One"), ("a/b", "# Two\n\n## Part"), ("gone", "# Gone")):
        assert caller.ask("PUT", f"/Modhub/api/wiki/{path}", text.encode(), key).status in (200, 201)
    assert caller.ask("DELETE", "/Modhub/api/wiki/gone", None, key).status == 204
    report = {"baseUrl": "https://files.example.org"}
    assert caller.ask("POST", "/api/modhub/storage/address", report, {"X-Api-Key": ADDRESS_KEY}).status == 200


def rest(url: str) -> None:
    """What only a browser or a platform brings, and what is there only for seconds: a Steam login, a task."""
    settings = {"sqlalchemy.url": url, "modhub.secret": SERVICE_SECRET, "pyramid.includes": FEATURES, **SETTINGS}
    registry: Any = modhub.configure(settings).registry
    manager = transaction.TransactionManager(explicit=True)
    with manager:
        session = find_service(registry, Databases).joined_session(manager)
        totp.add_authenticator(
            session, find_service(registry, AuthServices).secret_box, 2, TOTP, pyotp.TOTP(TOTP).now()
        )
        login = Login(account_id=1, kind="Platform", platform="steam", subject="76561198000000001", verified=True)
        login.created_at = db.now()
        session.add(login)
        session.flush()
        session.add(Nonce(hash="0" * 64, at=login.created_at))
        page = PageSession(account_id=1, login_id=login.id, secret_hash="1" * 64, label="Firefox")
        page.created_at = page.used_at = login.created_at
        session.add(page)
        create_key(session, 1, "release job", 2, 365)
        session.add(Successor(mod_id=1, guid=ABSENT.lower()))
        session.add(DescriptionSource(mod_id=3, text_format="text", source="not yet", sha256="2" * 64))
        session.add(NoteSource(note_id=1, text_format="markdown", source="**not yet**", sha256="3" * 64))
        follow(session, 2, Target(TargetKind.AUTHOR, "1"), 10, "en")
        choose_frequency(session, 2, Frequency.DAILY, "en")
        session.add(Pending(account_id=2, mod_id=2, version="1.1", at=login.created_at))
        session.add(UploadedVersion(mod_id=2, version="1.1", at=login.created_at))
        session.add(AuthorProfile(account_id=1, sentence="I make mods.", links="https://example.org"))
        # The worker may have written these already.
        session.merge(PopularMod(mod_id=2, weight=1))
        session.merge(PopularState(id=1, computed_at=login.created_at))
        session.merge(Lease(name="popular mods", holder="a", until=login.created_at))
        # A backup and the making of a picture are under way.
        hold = FileHold(purpose=HoldPurpose.BACKUP.value, started_at=login.created_at, renewed_at=login.created_at)
        session.add_all((hold, PictureTask(asset_id=1, due_at=login.created_at)))
        # The service takes these from the table within seconds: one is as if it had just been stopped.
        session.add(ResetRequest(address="owner@example.org", language="en", asked_at=login.created_at))
    find_service(registry, Databases).dispose()


def as_json(value: Any) -> Any:
    """Bytes as base64."""
    return {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value


def dump(service: Installation) -> dict[str, Any]:
    """Rows, files and revisions."""
    with closing(sqlite3.connect(service.url.removeprefix("sqlite:///"))) as connection:
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        tables = {
            name: [
                {key: as_json(value) for key, value in dict(row).items()}
                for row in connection.execute(f"SELECT * FROM {name}")
            ]
            for name in names
            if not name.startswith(("sqlite_", "fts_"))
        }
    revisions = {name: rows[0]["version_num"] for name, rows in tables.items() if name.endswith("_alembic_version")}
    files = {
        path.parent.name + path.name: as_json(path.read_bytes()) for path in service.files.rglob("*") if path.is_file()
    }
    kept = {name: rows for name, rows in tables.items() if name not in revisions}
    return {"revisions": revisions, "tables": kept, "files": files}


def main() -> None:
    """Drive the service and print what it keeps."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        service = Installation(folder, f"sqlite:///{folder}/modhub.sqlite", FEATURES, settings=SETTINGS)
        assert service.admin("migrate").returncode == 0
        service.start()
        try:
            owner, reader = service.register("owner"), service.register("reader")
            service.caller().ask("POST", "/api/auth/login", {"email": "owner@example.org", "password": "wrong " * 3})
            service.caller().ask("POST", "/api/auth/forgot", {"email": "owner@example.org"})
            catalogue(owner, reader)
            machines(service.caller())
            icon = folder / "icon.png"
            icon.write_bytes(PNG)
            assert service.admin("game", "add", "Portal", "--icon", str(icon)).returncode == 0
            assert service.admin("game", "add", "Half-Life", "--display-name", "Half-Life (1998)").returncode == 0
        finally:
            service.stop()
        for command in (("pictures", "rebuild"), ("snapshot",), ("audit", "verify")):
            assert service.admin(*command).returncode == 0
        rest(service.url)
        contents = dump(service)
    empty = [name for name, rows in contents["tables"].items() if not rows and name not in OF_MODERATORS]
    assert empty == [], empty
    sys.stdout.write(json.dumps(contents, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
