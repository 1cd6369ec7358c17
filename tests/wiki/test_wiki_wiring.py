"""How the wiki plugs in: migrations, what it registers; alone, removed, and re-enabled."""

import argparse
from collections.abc import Callable
from typing import Any

import pytest

import modhub
from modhub.admin import migrate
from modhub.admin.core_commands import run_demo
from modhub.admin.maintenance_commands import run_verify
from modhub.admin.program import Admin
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.db import Databases
from modhub.plugins.declarations import Declarations
from modhub_testing import TEST_SECRET, Site, Start
from modhub_wiki.read_service import WikiReader

pytestmark = pytest.mark.slow

KEY = {"X-Api-Key": "wiki-key"}


def test_models_and_migrations_agree(wiki: Site) -> None:
    packages = {package.package: package for package in wiki.declarations.migrations}
    assert migrate.schema_differences(wiki.databases, packages["modhub_wiki"]) == []


def test_taken_out_and_put_back(start: Start) -> None:
    first = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki")
    url = str(first.registry.settings["sqlalchemy.url"])
    first.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=201)
    without = start("", url=url, ApiPrivateKeys="wiki-key Modhub:wiki")
    assert migrate.upgrade(without.databases, without.declarations.migrations) == []
    assert "Wiki" not in without.get("/Modhub").text
    for address in (
        "/Modhub/api/wiki",
        "/Modhub/api/wiki/a",
        "/api/modhub/doc/wiki",
        "/Modhub/Wiki",
        "/Modhub/wiki.atom",
        "/Modhub/wiki.json",
    ):
        without.get(address, status=404)
    without.get("/api/modhub/wiki", status=404)
    assert without.get("/api/modhub").status_int == 200
    back = start("modhub_wiki modhub_testing.accounts", url=url, ApiPrivateKeys="wiki-key Modhub:wiki")
    assert migrate.upgrade(back.databases, back.declarations.migrations) == []
    assert back.get("/Modhub/api/wiki/a").text == "# A"
    assert back.put("/Modhub/api/wiki/a", b"# A", headers=KEY).json["revision"] == 2


def test_a_database_that_is_behind_refuses_the_start(new_database: Callable[[str], str]) -> None:
    settings = {
        "sqlalchemy.url": new_database(""),
        "modhub.secret": TEST_SECRET,
        "pyramid.includes": "modhub_wiki",
    }
    registry: Any = modhub.configure(settings).registry
    try:
        with pytest.raises(StartRefused, match="modhub_wiki"):
            migrate.refuse_when_behind(
                find_service(registry, Databases), find_service(registry, Declarations).migrations
            )
    finally:
        find_service(registry, Databases).dispose()


def test_every_view_is_open_or_has_a_permission(wiki: Site) -> None:
    seen = []
    for entry in wiki.config.introspector.get_category("views"):
        view = entry["introspectable"]
        if (getattr(view["callable"], "__module__", None) or "").startswith("modhub_wiki"):
            related = [permission for permission in entry["related"] if permission.category_name == "permissions"]
            seen.append((view["callable"].__name__, related[0]["value"] if related else None))
    assert dict(seen) == {
        "list_pages_view": "__no_permission_required__",
        "read_page_view": "__no_permission_required__",
        "read_contract_view": "__no_permission_required__",
        "publish_page_view": "wiki:publish",
        "remove_page_view": "wiki:publish",
        "show_wiki": "__no_permission_required__",
        "search": "__no_permission_required__",
        "show_page": "__no_permission_required__",
        "show_revision": "__no_permission_required__",
        "show_history": "__no_permission_required__",
        "wiki_feed": "__no_permission_required__",
        "wiki_json_feed": "__no_permission_required__",
        "redirect_lower_case": "__no_permission_required__",
    }


def test_what_the_wiki_registers(wiki: Site) -> None:
    assert wiki.declarations.scopes["Modhub:wiki"]
    assert "modhub_wiki" in {feature.name for feature in wiki.declarations.features}


def test_two_applications_share_nothing(start: Start) -> None:
    site = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki")
    other = start(
        "modhub_wiki", ApiPrivateKeys="other Modhub:wiki", modhub__secret="another secret of more than 32 characters"
    )
    site.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=201)
    other.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=401)
    assert other.get("/Modhub/api/wiki").json["count"] == 0


def test_the_fingerprint_is_of_key_and_secret(start: Start) -> None:
    authors = []
    for secret in (TEST_SECRET, TEST_SECRET, "another secret of more than 32 characters"):
        site = start("modhub_wiki", ApiPrivateKeys="wiki-key Modhub:wiki", modhub__secret=secret)
        site.put("/Modhub/api/wiki/a", b"# A", headers=KEY, status=201)
        authors.append(WikiReader(site.databases.raw_queries).recent()[0].author)
    assert authors[0] == authors[1] != authors[2]


def test_demo_fills_an_empty_wiki_once(wiki: Site) -> None:
    admin = Admin(wiki.config)
    for _ in range(2):
        fill = next(fill for name, fill in wiki.declarations.demos if name == "Developer wiki")
        wiki.config.maybe_dotted(fill)(admin)
    pages = wiki.get("/Modhub/api/wiki").json["pages"]
    assert [page["path"] for page in pages] == [
        "getting-started",
        "index",
        "mods/manifest",
        "mods/overlay-api",
        "publishing",
    ]
    assert {page["revision"] for page in pages} == {1}
    for page in pages:
        shown = wiki.get(page["url"]).text
        assert "<table>" in shown or 'class="code"' in shown
        # Every link of a sample page leads to something.
        import re

        for href in re.findall(r'href="(/Modhub/Wiki[^"#]*)', shown):
            answer = wiki.get(href)
            assert (answer.follow() if answer.status_int == 302 else answer).status_int == 200, href
    assert run_verify(admin, argparse.Namespace(json=False)) == 0


@pytest.mark.slow
def test_the_command_demo_knows_the_wiki(wiki: Site, capsys: pytest.CaptureFixture[str]) -> None:
    run_demo(Admin(wiki.config), argparse.Namespace(dry_run=False))
    assert "Developer wiki" in capsys.readouterr().out
    assert wiki.get("/Modhub/api/wiki").json["count"] == 5
