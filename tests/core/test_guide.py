"""The feature of docs/writing-a-feature.md is complete: it runs as written there, with nine directives."""

import importlib
import runpy
from datetime import timedelta

import pytest
from sqlalchemy import select, text, update

from modhub.base.body_rules import BodyRules
from modhub.db import now
from modhub.plugins.events import AccountDeleted
from modhub_testing.databases import schema_differences
from modhub_testing.mods import mod_address, published_mod
from modhub_testing.pages import form_at, new_visitor
from modhub_testing.workers import run_worker
from tests.people import read, write

pytestmark = pytest.mark.slow

PACKAGE = "modhub_bookmarks"
INCLUDES = f"modhub_testing.accounts {PACKAGE}"


def bookmark(site, address, account=8):
    """Make a bookmark; its number."""
    return site.as_account(account).post_json(address, {"text": "Splits"}, status=201).json["id"]


def test_its_own_tests_pass(guide_feature, start):
    tests = runpy.run_path(str(guide_feature / "tests" / "test_bookmarks.py"))
    own = [test for name, test in tests.items() if name.startswith("test_")]
    assert len(own) == 2
    for test in own:
        test(start)


def test_what_it_declares(guide_feature, start):
    site = start(INCLUDES, modhub_bookmarks__days="7")
    (package,) = (package for package in site.declarations.migrations if package.package == PACKAGE)
    assert schema_differences(site.databases, package) == []
    assert site.registry.settings["modhub_bookmarks.days"] == 7
    rules = site.find_service(BodyRules)
    assert rules.find("POST", "/api/modhub/1/bookmarks").limit == 4096
    assert "Disallow: /Modhub/*/bookmarks" in site.get("/robots.txt").text
    # C-API-7: the reference has its calls, and it wrote nothing for that.
    page = site.get("/Modhub/doc").html
    assert page.find(id="bookmarks").text == "Bookmarks"
    assert page.find(id="create-bookmark").text == "POST /api/modhub/{id}/bookmarks"
    assert page.find(id="create-bookmark").find_next(class_="request").text.splitlines()[-2:] == [
        """  -d '{"text":"For the level with the clock."}' \\""",
        "  http://127.0.0.1:6543/api/modhub/12/bookmarks",
    ]


def test_its_work_for_operators(guide_feature, start, run_admin):
    site = start(INCLUDES, modhub_bookmarks__days="1")
    models = importlib.import_module(f"{PACKAGE}.models")
    number = bookmark(site, mod_address(published_mod(site), "bookmarks"))
    with site.databases.readonly_session() as session:
        own_data = site.declarations.personal_data["bookmarks"](session, 8)
    assert [told["text"] for told in own_data.document] == ["Splits"]
    assert run_admin(site, "bookmarks") == (0, f"{number}: mod 1: Splits\n")
    write(site, update(models.Bookmark).values(created_at=now() - timedelta(days=2)))
    assert run_worker(site.registry, "old bookmarks")
    assert read(site, select(models.Bookmark)) == []


def test_its_calls_its_panel_and_its_subscribers(guide_feature, start):
    site = start(INCLUDES)
    mod, other = published_mod(site), published_mod(site, owner=9)
    address, reader = mod_address(mod, "bookmarks"), site.as_account(8)
    first = reader.post_json(address, {"text": "<b>Splits</b>"}, status=201).json["id"]
    assert [told["id"] for told in site.get(address).json["bookmarks"]] == [first]
    assert "<p>Newest bookmark: &lt;b&gt;Splits&lt;/b&gt;</p>" in site.get(mod["url"])
    reader.delete(f"{address}/{first}", status=200)
    bookmark(site, address), bookmark(site, mod_address(other, "bookmarks"))
    count = text("SELECT count(*) FROM bookmarks_bookmark")
    site.as_account(9).delete(mod_address(other), status=204)
    with site.databases.write_session.begin() as session:
        assert session.scalar(count) == 1
        site.registry.notify(AccountDeleted(8, session, site.registry))
        assert session.scalar(count) == 0


def test_its_form(guide_feature, start):
    site = start(f"{INCLUDES} {PACKAGE}.pages")
    path = f"/Modhub/{published_mod(site)['id']}/bookmarks"
    new_visitor(site).get(path, status=303)  # to sign in
    shown = new_visitor(site, 8).get(path, headers={"Accept-Language": "de"})
    assert "Lesezeichen für diese Mod setzen" in shown
    form = form_at(new_visitor(site, 8).get(path), path)
    form["text"] = "Splits"
    assert "Newest bookmark: Splits" in form.submit(status=303).follow()
    assert len(site.get(f"/api{path.replace('Modhub', 'modhub')}").json["bookmarks"]) == 1
