"""A locked, missing or broken database: reads continue where possible, writes wait, then 503."""

import json
import time

import psycopg
import pytest
from sqlalchemy import event, text

from modhub import db
from modhub.catalogue.reading.service import CatalogueReader
from modhub_testing import stored_files
from modhub_testing.databases import closed_database, locked_database
from modhub_testing.mods import OWNER, mod_address, new_mod, notes_of_mod, publish_test_mod, published_mod, upload_asset
from tests.people import PASSWORD, cheap_hashes, register

pytestmark = pytest.mark.postgres

CEILING = 60.0
"""Seconds; the wait itself is five."""


def test_reads_go_on_and_writes_are_503_while_somebody_holds_the_lock(start, caplog):
    # C-ERR-9, C-ERR-16, C-RUN-8, C-RUN-15, T-F4
    site = start(fresh=True, modhub__lock_seconds="1")
    mod, draft = published_mod(site), new_mod(site)
    upload_asset(site, draft, "code", version="1")
    files = stored_files(site)
    own = site.as_account(OWNER)
    with locked_database(str(site.registry.settings["sqlalchemy.url"])):
        for url in (
            "/api/modhub",
            "/api/modhub?q=mod",
            mod_address(mod),
            mod_address(mod, "changelog"),
            mod_address(mod, "download"),
        ):
            began = time.monotonic()
            assert site.get(url).status_int == 200
            assert time.monotonic() - began < CEILING
        assert own.get("/api/modhub/mine").json["count"] == 2
        began = time.monotonic()
        refused = own.post(mod_address(mod, "code?version=2"), b"x", status=503)
        assert 1 <= time.monotonic() - began < CEILING
        assert refused.json["error"] == "busy"
        assert refused.headers["Retry-After"].isdigit()
        assert own.post(mod_address(draft, "publish"), status=503).json["error"] == "busy"
        assert site.get("/readyz", status=503).json["database"] == "unreachable"
        # What is refused in any case is not kept waiting.
        own.put(mod_address(mod), b"{", status=400)
        site.put_json(mod_address(mod), {}, status=401)
    assert "Traceback" not in caplog.text
    assert stored_files(site) == files
    assert len(notes_of_mod(site, mod)) == 1
    upload_asset(site, mod, "code", version="2")
    publish_test_mod(site, draft)


def test_a_pool_recovers_from_connections_that_died(start, dialect):
    # T-F5
    site = start()
    mod = published_mod(site)
    for _ in range(3):
        if dialect == "postgresql":
            plain = str(site.registry.settings["sqlalchemy.url"]).replace("+psycopg", "")
            with psycopg.connect(plain, autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        else:
            site.databases.dispose()
        assert site.get(mod_address(mod)).status_int == 200
        site.as_account(OWNER).put_json(mod_address(mod), {"description": "x"}, status=200)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_database_that_cannot_be_had_is_503(start, caplog):
    # C-ERR-3, C-ERR-16, C-RUN-8, T-F4
    site = start(fresh=True)
    unreachable = db.Databases(f"{site.registry.settings['sqlalchemy.url']}.folder/x.sqlite")
    site.databases.dispose()
    site.registry[db.Databases] = unreachable
    site.find_service(CatalogueReader).reader.engine = unreachable.readonly_engine
    for url in ("/api/modhub", "/api/modhub/1"):
        answer = site.get(url, status=503)
        assert answer.json["error"] == "busy"
        assert answer.headers["Retry-After"].isdigit()
    site.as_account(OWNER).post_json("/api/modhub", {"title": "x"}, status=503)
    assert site.get("/readyz", status=503).json["database"] == "unreachable"
    assert site.get("/healthz").json == {"status": "ok"}
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_without_the_database_all_that_needs_it_is_503_for_the_moment(start, monkeypatch, caplog):
    # C-ERR-16, C-RUN-8, C-RUN-28
    with cheap_hashes(monkeypatch):
        keys = {"ApiPrivateKeys": "agent Modhub:app Modhub:wiki"}
        site = start("modhub_auth modhub_builds modhub_wiki", fresh=True, **keys)
    ada = register(site, "Ada")
    mod, sign_in = ada.publish(), {"email": ada.address, "password": PASSWORD}
    path, page = mod_address(mod), mod["url"]
    static = site.get("/Modhub").html.select_one('link[href^="/static/"]')["href"]
    reads = ["/Modhub", page, "/Modhub/App", "/Modhub/app/windows", "/Modhub/Wiki", "/Modhub/api/wiki/a"]
    reads += ["/Modhub/feed", "/sitemap.xml", mod["assets"][0]["url"], "/readyz", "/api/auth/me"]
    reads += ["/api/modhub", path, f"{path}/changelog", f"{path}/download", f"{path}/vote"]
    reads += ["/api/modhub/mine", "/api/modhub/games", "/api/modhub/app"]
    writes = [
        ("POST", "/api/auth/login", sign_in),
        ("POST", "/api/auth/register", sign_in | {"email": "new@example.org"}),
        ("POST", "/api/auth/forgot", sign_in),
        ("POST", "/api/auth/refresh", {"refreshToken": "x"}),
        ("POST", "/api/modhub", {"title": "Late"}),
        ("PUT", path, {"title": "Late"}),
        ("PUT", f"{path}/vote", {"vote": 1}),
        ("DELETE", path, None),
        ("POST", f"{path}/code?version=2&name=x.zip", {}),
        ("POST", "/api/modhub/app/linux?version=3", {}),
    ]
    sent = {**ada.bearer, "X-Api-Key": "agent"}
    with closed_database(str(site.registry.settings["sqlalchemy.url"])):
        for method, address, body in [*(("GET", address, None) for address in reads), *writes]:
            answer = site.request(address, method=method, body=json.dumps(body).encode(), headers=sent, status=503)
            assert int(answer.headers["Retry-After"]) >= 1, address
        for address in (static, "/healthz"):
            site.get(address, status=200)
    # The first call is taken again.
    for address in (path, f"{path}/download", page, "/api/auth/me"):
        site.get(address, headers=ada.bearer, status=200)
    ada.call("put_json", path, params={"title": "In time"}, status=200)
    site.post_json("/api/auth/login", sign_in, status=200)
    assert "Traceback" not in caplog.text


def test_our_own_mistakes_are_not_called_busy(site):
    with site.databases.write_engine.connect() as connection:
        for statement in ("SELECT nonsense", "SELECT * FROM nothing", "SELEC"):
            with pytest.raises(Exception) as problem:  # noqa: PT011 - whatever the driver calls it
                connection.execute(text(statement))
            connection.rollback()
            assert not db.is_transient(problem.value)
    assert not db.is_transient(ValueError("x"))
    # C-ERR-16, T-F2
    assert db.is_transient(psycopg.errors.DiskFull("could not extend file"))


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_database_without_room_is_503_and_recovers(site, caplog):
    # C-ERR-16, T-F2
    own, engine = site.as_account(OWNER), site.databases.write_engine

    def no_room(connection, _record):
        connection.execute("PRAGMA max_page_count = 1")  # SQLite takes the pages that there are

    mod = published_mod(site)
    engine.dispose()
    event.listen(engine, "connect", no_room)
    for _ in range(50):
        answer = own.post_json("/api/modhub", {"title": "x", "description": "x" * 8000}, status="*")
        if answer.status_int != 201:
            break
    assert (answer.status_int, answer.json["error"]) == (503, "busy")
    assert answer.headers["Retry-After"].isdigit()
    assert site.get(mod_address(mod)).json["id"] == mod["id"]
    event.remove(engine, "connect", no_room)
    engine.dispose()
    own.post_json("/api/modhub", {"title": "x", "description": "x" * 8000}, status=201)
    assert "Traceback" not in caplog.text
