"""Upgrades from recorded versions: database and file store are migrated to the current schema."""

import json
from base64 import b64decode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import JSON, Boolean, MetaData, Table, inspect, select, text

import modhub
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.declarations import Declarations, Migrations
from modhub.ops import migrate
from modhub_testing.caller import patiently
from modhub_testing.service import PASSWORD, SERVICE_SECRET, Installation

pytestmark = [pytest.mark.long, pytest.mark.postgres]

STATES = sorted((Path(__file__).parent / "upgrades").glob("*.json"))
FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"
)
KEY = "machine-key-of-the-upgrade-fixture-0001"
SETTINGS = {
    "ApiPrivateKeys": f"{KEY} Modhub:app Modhub:wiki",
    "modhub.storage_address_key": "address-key-of-the-upgrade-fixture-0001",
    "mail.host": "127.0.0.1",
    "mail.port": "1",
}
Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def packages() -> list[Migrations]:
    """All migrations, which do not depend on the database."""
    url = "sqlite:////nowhere/modhub.sqlite"
    settings = {"sqlalchemy.url": url, "modhub.secret": SERVICE_SECRET, "pyramid.includes": FEATURES}
    return find_service(modhub.configure(settings, makes_store=False).registry, Declarations).migrations


@contextmanager
def databases_of(service: Installation) -> Iterator[Databases]:
    databases = Databases(service.url)
    yield databases
    databases.dispose()


def value_of(column: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return b64decode(value["base64"])
    if value is None:
        return None
    if isinstance(column.type, Boolean):
        return bool(value)
    return json.loads(value) if isinstance(column.type, JSON) else value


def reflected(connection: Any, names: Any) -> list[Table]:
    """These tables as the database has them, those first that others refer to."""
    metadata = MetaData()
    metadata.reflect(connection, only=list(names))
    return [table for table in metadata.sorted_tables if table.name in names]


def rows_of(connection: Any, tables: Rows) -> Rows:
    """What the database has of these tables and columns, in the order of their keys."""
    contents: Rows = {}
    # Migrating itself writes which older code is compatible.
    names = tables.keys() & set(inspect(connection).get_table_names()) - {"core_compatible_revision"}
    for table in reflected(connection, names):
        # The timeline is the database server's: the first connection fills it in.
        columns = [table.c[name] for name in tables[table.name][0] if name != "timeline" and name in table.c]
        rows = connection.execute(select(*columns).order_by(*table.primary_key.columns)).mappings()
        contents[table.name] = [dict(row) for row in rows]
    return contents


def restore(service: Installation, state: dict[str, Any], packages: list[Migrations]) -> Rows:
    """Restore the database and the files; return the rows as this database has them."""
    with databases_of(service) as databases:
        for package in packages:
            # A feature of today may not have been there then.
            if package.version_table not in state["revisions"]:
                continue
            with databases.write_engine.begin() as connection:
                config = migrate._config(package, connection)
                command.upgrade(config, state["revisions"][package.version_table])
        with databases.write_engine.begin() as connection:
            tables = reflected(connection, state["tables"])
            # What a migration itself has put there.
            for table in reversed(tables):
                connection.execute(table.delete())
            for table in tables:
                rows = [{k: value_of(table.c[k], v) for k, v in row.items()} for row in state["tables"][table.name]]
                connection.execute(table.insert(), rows)
                if databases.dialect == "postgresql" and "id" in table.c:
                    # As pg_restore does: numbers that were given out are not given out again.
                    sequence = f"pg_get_serial_sequence('{table.name}', 'id')"
                    connection.execute(text(f"SELECT setval({sequence}, max(id)) FROM {table.name}"))
            before = rows_of(connection, state["tables"])
    for key, content in state["files"].items():
        file = service.files / key[:2] / key[2:]
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.write_bytes(b64decode(content["base64"]))
    return before


@pytest.fixture(scope="module", params=STATES, ids=lambda path: path.stem)
def state(request: pytest.FixtureRequest) -> Any:
    return json.loads(request.param.read_text("utf-8"))


DROPPED = {"following_lease": None, "sync_lease": None, "downloads_state": "until"}
"""The tables and columns that only processes of 1.0 use."""


def content(service: Installation, state: dict[str, Any]) -> Rows:
    with databases_of(service) as databases, databases.readonly_engine.connect() as connection:
        return rows_of(connection, state["tables"])


def without_dropped(rows: Rows) -> Rows:
    """The rows as they are when what is left for older processes is gone."""
    kept = {name: rows_of_table for name, rows_of_table in rows.items() if DROPPED.get(name, "") is not None}
    return {
        name: [{key: value for key, value in row.items() if key != DROPPED.get(name)} for row in rows_of_table]
        for name, rows_of_table in kept.items()
    }


@pytest.fixture(scope="module")
def restored(services, kind, state, packages) -> tuple[Installation, Rows, list[str]]:
    """The service of then, with its rows and the names of its tables."""
    service = services(kind, 0, includes=FEATURES, settings=SETTINGS)
    rows = restore(service, state, packages)
    with databases_of(service) as databases:
        return service, rows, inspect(databases.readonly_engine).get_table_names()


@pytest.fixture(scope="module")
def upgraded(restored, state) -> Any:
    """The service on the newest schema, its rows before, between the two runs of ``migrate``, and afterwards."""
    service, before, _ = restored
    contents = [before]
    for _ in "expand", "contract":
        ended = service.admin("migrate")
        assert ended.returncode == 0, ended
        contents.append(content(service, state))
    return service, *contents


def test_the_recorded_state_has_rows_in_every_table_of_then(restored, state):
    names = restored[2]
    tables = {name for name in names if not name.startswith(("fts_", "sqlite_")) and not name.endswith("_version")}
    assert tables == set(state["tables"])
    assert [name for name, rows in state["tables"].items() if not rows] == []
    assert len(state["files"]) > 5


def test_migrating_loses_no_row_and_no_value(upgraded, state, packages):
    service, before, between, after = upgraded
    recorded = {name: rows for name, rows in state["tables"].items() if name != "core_compatible_revision"}
    assert sum(map(len, before.values())) == sum(map(len, recorded.values()))
    assert service.admin("migrate").stdout == "The database is up to date.\n"
    with databases_of(service) as databases:
        assert migrate.behind(databases, packages) == []
        for package in packages:
            assert migrate.schema_differences(databases, package) == []
    # Processes of the older code go on between the two runs.
    for rows, expected in ((between, before), (after, without_dropped(before))):
        assert list(rows) == list(expected)
        for name in expected:
            assert rows[name] == expected[name], name


def test_the_old_leases_are_free_again_for_older_code(upgraded, state):
    service, before = upgraded[0], content(upgraded[0], state)
    for revision in ("following_0004", "sync_0002", "downloads_0003"):
        assert service.admin("migrate", "--down", revision).returncode == 0
    with closing(service.connect()) as connection:
        for name in ("following_lease", "sync_lease"):
            assert connection.execute(f"SELECT id, until FROM {name}").fetchall() == [(1, 0)]
        assert set(connection.execute("SELECT until FROM downloads_state").fetchall()) <= {(0,)}
    assert service.admin("migrate").returncode == 0
    assert content(service, state) == before


def test_the_service_goes_on_from_there(upgraded):
    service = upgraded[0]
    verified = service.admin("verify")
    assert (verified.returncode, verified.stdout) == (0, "No problems found.\n")
    service.start()
    try:
        reads(service)
        writes(service)
    finally:
        assert service.stop() == [0]
    assert service.admin("sweep", "--older-than", "0").returncode == 0
    assert service.admin("verify").returncode == 0


def reads(service: Installation) -> None:
    """What anybody reads."""
    caller = service.caller()
    ready = caller.need(200, "GET", "/readyz")
    states = (ready["status"], ready["database"], ready["storage"], ready["passwords"])
    assert states == ("ok", "ok", "ok", "ok")
    listed = caller.need(200, "GET", "/api/modhub?q=cafe")
    assert [mod["title"] for mod in listed["mods"]] == ["Needed Café"]
    (mod,) = caller.need(200, "GET", "/api/modhub?game=half-life")["mods"]
    detail = caller.need(200, "GET", f"/api/modhub/{mod['id']}")
    assert (detail["title"], detail["version"], detail["description"]) == ("Upgraded", "1.1", "<p>A <b>mod</b></p>")
    assert [part["title"] for part in detail["install"]] == ["Needed Café", "Upgraded"]
    assert len(detail["missing"]) == 1
    assert caller.ask("GET", f"/api/modhub/{mod['id']}/download").body == b"code 1.1"
    assert [len(caller.ask("GET", asset["url"]).body) for asset in detail["assets"]] == [8, 19, 28]
    entries = caller.need(200, "GET", f"/api/modhub/{mod['id']}/changelog")["notes"]
    assert [(entry["title"], entry["text"]) for entry in entries] == [("1.1", ""), ("First", "<b>new</b>")]
    assert caller.need(200, "GET", f"/api/modhub/{mod['id']}/vote") == {"ups": 1, "downs": 0}
    # A feature that was not there then.
    assert set(caller.need(200, "GET", f"/api/modhub/{mod['id']}/links").values()) == {None}
    games = caller.need(200, "GET", "/api/modhub/games")["games"]
    assert [game["displayName"] for game in games] == ["Half-Life (1998)", "Portal"]
    assert caller.ask("GET", games[1]["iconUrl"]).status == 200
    app = caller.need(200, "GET", "/api/modhub/app")
    assert [(build["os"], build["version"], len(build["versions"])) for build in app["builds"]] == [
        ("windows", "2", 2),
        ("linux", "2", 1),
    ]
    assert app["changelog"] == "2\n- Second\n\n1\n- First"
    assert caller.ask("GET", "/Modhub/app/windows").body == b"windows 2"
    assert caller.ask("GET", "/Modhub/api/wiki/a/b").body == b"# Two\n\n## Part"
    assert caller.ask("GET", "/Modhub/api/wiki/gone").status == 404
    for page in ("/Modhub", detail["url"], "/Modhub/App", "/Modhub/Wiki", "/Modhub/Wiki/a/b", "/Modhub/feed"):
        assert caller.ask("GET", page).status == 200, page


def writes(service: Installation) -> None:
    """What owners of an account or a key do."""
    caller = service.caller()
    credentials = {"email": "owner@example.org", "password": PASSWORD}
    owner = service.caller(caller.need(200, "POST", "/api/auth/login", credentials)["accessToken"])
    mine = owner.need(200, "GET", "/api/modhub/mine")["mods"]
    assert sorted((mod["title"], mod["published"]) for mod in mine) == [
        ("A draft", False),
        ("Needed Café", True),
        ("Upgraded", True),
    ]
    number = next(mod["id"] for mod in mine if mod["title"] == "Upgraded")
    used = patiently(lambda: owner.send_file(number, "code", b"again", version="1.0"))
    assert (used.status, used.json["version"]) == (409, "1.0")
    sent = patiently(lambda: owner.send_file(number, "code", b"code 2", version="2"))
    assert sent.status == 201, sent
    assert owner.new_mod("Another")["id"] > max(mod["id"] for mod in mine)
    factor = patiently(lambda: caller.ask("POST", "/api/auth/login", credentials | {"email": "reader@example.org"}))
    assert (factor.status, factor.json["twoFactorRequired"]) == (401, True)
    sent = patiently(lambda: caller.ask("POST", "/api/modhub/app/linux?version=3", b"linux 3", {"X-Api-Key": KEY}))
    assert sent.status == 201, sent
    assert service.register("newcomer").need(200, "GET", "/api/auth/me")["accountId"] > 2
