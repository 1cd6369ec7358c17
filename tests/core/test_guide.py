"""The feature of docs/writing-a-feature.md runs as written there, and uses every directive that the guide teaches."""

import ast
import importlib
import re
import runpy
import sys
from argparse import Namespace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update

from modhub.admin.program import Admin
from modhub.base.body_rules import IBodyRules
from modhub.base.service_registry import find_service
from modhub.db import now
from modhub.plugins.declarations import Declarations
from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IModeration
from modhub_testing import Start
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod
from modhub_testing.pages import new_visitor
from modhub_testing.workers import run_worker

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-feature.md"
PACKAGE = "modhub_bookmarks"
INCLUDES = f"modhub_testing.accounts {PACKAGE}"
FILES = re.compile(r"(?s)```(?:python\n# |po\n# |css\n/\* |jinja\n\{# )([\w/.]+)(?: #\}| \*/)?\n(.*?)```")
BASELINE = f"""
from alembic import op

revision = "bookmarks_0001"
down_revision = None


def upgrade() -> None:
    from {PACKAGE}.models import Bookmark, Check
    Bookmark.__table__.create(op.get_bind())
    Check.__table__.create(op.get_bind())
"""
KEY = "a-key-that-checks"


@pytest.fixture(scope="module")
def feature(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package as the guide has it, with a migration that makes its table; imported once, since it maps a table."""
    folder = tmp_path_factory.mktemp("guide")
    for name, source in FILES.findall(GUIDE.read_text("utf-8")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    versions = folder / PACKAGE / "migrations" / "versions"
    versions.mkdir(parents=True)
    (versions / "bookmarks_0001_baseline.py").write_text(BASELINE)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))


@pytest.mark.postgres
def test_its_own_test_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_bookmarks.py"))
    tests["test_a_bookmark_is_closed_to_strangers"](start)


def test_its_test_of_deletions_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_bookmarks.py"))
    tests["test_bookmarks_are_deleted_with_mods_and_accounts"](start)


def test_its_test_of_the_form_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_bookmarks.py"))
    tests["test_the_form_bookmarks_a_mod"](start)


def taught_directives(guide: str) -> set[str]:
    """The directives of the guide's table; our own need no prefix, Pyramid's are called in the same way."""
    table = re.search(r"(?ms)^## Directives\n(.*?)^## ", guide)
    assert table
    return set(re.findall(r"(?m)^\| `(\w+)\(", table[1]))


def called_directives(guide: str) -> set[str]:
    """The methods of ``config`` that the guide's files call."""
    calls = (
        node.func
        for name, source in FILES.findall(guide)
        if name.endswith(".py")
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return {call.attr for call in calls if isinstance(call.value, ast.Name) and call.value.id == "config"}


def test_it_uses_every_directive_that_the_guide_teaches() -> None:
    guide = GUIDE.read_text("utf-8")
    assert len(taught_directives(guide)) > 20
    assert taught_directives(guide) - called_directives(guide) == set()


def test_its_requests(feature: Path, start: Start) -> None:
    site = start(INCLUDES, ApiPrivateKeys=f"{KEY} Bookmarks:check")
    mod, other = published_mod(site), published_mod(site)
    address, reader, machine = mod_address(mod, "bookmarks"), site.as_account(8), {"X-Api-Key": KEY}
    bookmark = reader.post_json(address, {"text": "Splits"}, status=201).json["id"]
    rules = site.registry.getUtility(IBodyRules)
    assert rules.find("POST", address).limit == 4096
    assert rules.find("PUT", f"{address}/{bookmark}/screenshot").stored is True
    listed = site.get(f"/Modhub/{mod['id']}/bookmarks/list")
    assert listed.json == site.get(address).json
    assert listed.headers["Access-Control-Allow-Origin"] == "*"
    for content in (b"picture", b"better picture"):
        reader.put(f"{address}/{bookmark}/screenshot", content, content_type="image/png", status=200)
    site.as_account(9).put(f"{address}/{bookmark}/screenshot", b"x", content_type="image/png", status=401)
    part, before = site.find_service(IModeration).parts["bookmark"], site.get(address).json
    with site.databases.write_session.begin() as session:
        assert part.remove(session, other["id"], str(bookmark)) is None
        kept = part.remove(session, mod["id"], str(bookmark))
    assert site.get(address).json != before
    with site.databases.write_session.begin() as session:
        assert part.restore(session, mod["id"], str(bookmark), kept or {})
    assert site.get(address).json["count"] == before["count"]
    reader.delete(f"{address}/{bookmark}", status=200)
    with site.databases.readonly_session() as session:
        assert session.scalar(text("SELECT count(*) FROM core_blob WHERE trashed_at IS NOT NULL")) == 2
    site.put(f"{address}/check", status=401)
    for _ in range(2):
        site.put(f"{address}/check", headers=machine, status=200)
    checked = site.get("/Modhub?sort=checked").text
    assert checked.index(f'href="/Modhub/{mod["id"]}"') < checked.index(f'href="/Modhub/{other["id"]}"')
    works = site.get("/Modhub?state=works")
    assert [link["href"] for link in works.html.select(".card h3 a")] == [f"/Modhub/{mod['id']}"]
    assert [option.text for option in works.html.select("#state option")] == ["All states", "Works", "Broken"]
    assert [figure.text for figure in site.get("/Modhub?page=1").html.select(".figure")] == ["1 check"]
    published_mod(site), published_mod(site)
    assert site.get("/Modhub").html.find(id="row-checked").find_next("h3").text == mod["title"]


def test_its_pages(feature: Path, start: Start) -> None:
    site = start(INCLUDES)
    assert "Disallow: /Modhub?sort=checked&" in site.get("/robots.txt").text
    assert "/Modhub?sort=checked<" in site.get("/sitemap.xml?of=bookmarks&part=0").text
    path = f"/Modhub/{published_mod(site)['id']}/bookmarks"
    form = new_visitor(site, 8).get(path, headers={"Accept-Language": "de"})
    assert "Lesezeichen für diese Mod setzen" in form
    (style,) = re.findall(r'href="(/static/[^"]*bookmarks[^"]*\.css)"', form.text)
    assert "width" in site.get(style)


def test_its_say_in_uploads_and_publishing(feature: Path, start: Start) -> None:
    site = start(INCLUDES)
    models = importlib.import_module(f"{PACKAGE}.models")
    mod, owner = new_mod(site), site.as_account(7)
    code = mod_address(mod, "code?version=1")
    assert owner.post(code, b"MZ" + bytes(300_000), status=400).json["error"] == "invalid_input"
    assert owner.get(mod_address(mod, "files")).json["files"] == []
    owner.post(code, b"PK" + bytes(300_000), status=201)
    with site.databases.write_session.begin() as session:
        session.add(models.Check(mod_id=mod["id"], checked_at=now(), state="broken"))
    assert owner.post(mod_address(mod, "publish"), status=409).json["error"] == "broken"
    with site.databases.write_session.begin() as session:
        session.execute(update(models.Check).values(state="works"))
    owner.post(mod_address(mod, "publish"), status=200)
    described = site.get("/api/openapi.json").json["paths"]["/api/modhub/{id}/publish"]["post"]["responses"]["409"]
    assert {"no_code", "broken"} <= described["content"]["application/json"]["examples"].keys()


def test_its_work_for_operators(feature: Path, start: Start) -> None:
    site = start(INCLUDES, modhub_bookmarks__days="1")
    admin, lines = Admin(site.config, [].append), list[str]()
    admin.say = lines.append
    operation = importlib.import_module(f"{PACKAGE}.operation")
    models = importlib.import_module(f"{PACKAGE}.models")
    address = mod_address(published_mod(site), "bookmarks")
    bookmark = site.as_account(8).post_json(address, {"text": "Splits"}, status=201).json["id"]
    site.as_account(8).put(f"{address}/{bookmark}/screenshot", b"x", content_type="image/png", status=200)
    declared = find_service(site.registry, Declarations)
    assert operation.count_bookmarks(site.registry) == 1
    with site.databases.readonly_session() as session:
        blob_id = session.scalar(text("SELECT screenshot_id FROM bookmarks_bookmark"))
        assert declared.blob_names["bookmarks"](session, [blob_id]) == {
            blob_id: f"the screenshot of bookmark {bookmark}"
        }
        assert list(declared.checks["bookmarks"].run(site.registry, session)) == []
    declared.commands["bookmarks"].run(admin, Namespace(json=False))
    assert lines == [f"{bookmark}: mod 1: Splits"]
    operation.fill_demo(admin)
    with site.databases.write_session.begin() as session:
        session.execute(update(models.Bookmark).values(mod_id=999, created_at=now() - timedelta(days=2)))
    with site.databases.readonly_session() as session:
        assert list(declared.checks["bookmarks"].run(site.registry, session)) == [
            "bookmarks of mod 999, which does not exist"
        ]
    assert run_worker(site.registry, "old bookmarks")
    assert operation.count_bookmarks(site.registry) == 0


def test_its_other_accounts_and_file_store(
    feature: Path, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    site = start("modhub_intranet", modhub__storage="home://mods")
    account = {"X-Account": "7"}
    site.post_json("/api/modhub", {"title": "Mine"}, status=401)
    mod = site.post_json("/api/modhub", {"title": "Mine"}, headers=account, status=201).json
    code = mod_address(mod, "code?version=1")
    site.post(code, b"x", headers=account, content_type="application/zip", status=201)
    assert any((tmp_path / "mods").rglob("*"))


def test_its_public_read_knows_drafts_no_more_than_absent_mods(feature: Path, start: Start) -> None:
    site = start(INCLUDES)
    mod, draft = published_mod(site), new_mod(site)
    address = mod_address(mod, "bookmarks")
    first, second = (
        site.as_account(8).post_json(address, {"text": text}, status=201).json["id"] for text in ("One", "Two")
    )
    listed = site.get(address)
    assert [bookmark["id"] for bookmark in listed.json["bookmarks"]] == [second, first]
    assert [bookmark["id"] for bookmark in site.get(f"{address}?before={second}").json["bookmarks"]] == [first]
    site.get(address, headers={"If-None-Match": listed.headers["ETag"]}, status=304)
    unseen = site.get(mod_address(draft, "bookmarks"), status=404)
    assert unseen.body == site.get("/api/modhub/999/bookmarks", status=404).body


def test_its_views_its_panel_and_its_subscribers(feature: Path, start: Start) -> None:
    site = start(INCLUDES, modhub_bookmarks__most="2")
    mod, other = published_mod(site), published_mod(site, owner=9)
    address, reader = mod_address(mod, "bookmarks"), site.as_account(8)
    first = reader.post_json(address, {"text": "<b>Splits</b>", "pinned": True}, status=201).json
    assert first["pinned"] is True
    assert "<p>Newest bookmark: &lt;b&gt;Splits&lt;/b&gt;</p>" in site.get(f"/Modhub/{mod['id']}").text
    reader.post_json(mod_address(other, "bookmarks"), {"text": "Also", "pinned": None}, status=201)
    assert reader.post_json(address, {"text": "Third"}, status=409).json["message"] == "You have 2 bookmarks."
    assert reader.post_json(address, {"text": 5}, status=400).json["error"] == "invalid_input"
    missing = site.as_account(9).post_json("/api/modhub/999/bookmarks", {"text": "x"}, status=404)
    hidden = published_mod(site, owner=9)
    hide_mod(site, hidden)
    for unseen in (new_mod(site, owner=9), hidden):
        assert reader.post_json(mod_address(unseen, "bookmarks"), {"text": "x"}, status=404).body == missing.body
    reader.delete(f"{address}/{first['id']}", status=200)
    reader.delete(f"{address}/{first['id']}", status=401)
    services = importlib.import_module(f"{PACKAGE}.services")
    with site.databases.write_session.begin() as session:
        assert services.count_of_account(session, 8) == 1
        site.registry.notify(AccountDeleted(9, session, site.registry))
        assert services.count_of_account(session, 8) == 0


@pytest.mark.postgres
def test_it_refuses_while_another_connection_writes(feature: Path, start: Start) -> None:
    # C-OWN-13
    site = start(INCLUDES, modhub__lock_seconds="1")
    address = mod_address(published_mod(site), "bookmarks")
    bookmark = site.as_account(8).post_json(address, {"text": "Splits"}, status=201).json["id"]
    with site.databases.write_session.begin() as session:
        session.execute(text("SELECT 1"))
        for caller in (site, site.as_account(9)):
            caller.delete(f"{address}/{bookmark}", status=401)
        site.post_json(address, {"text": "x"}, status=401)
        site.as_account(9).post_json("/api/modhub/999/bookmarks", {"text": "x"}, status=404)
