"""Cached responses: never different from what the database says, never anybody's own, and bounded."""

import random
import sys
from functools import partial
from types import ModuleType

import pytest
from pyramid.exceptions import ConfigurationExecutionError
from pyramid.response import Response

from modhub.admin.program import Admin
from modhub.base.identity import CorePermission
from modhub.catalogue import commands
from modhub.catalogue.reading.service import CatalogueReader
from modhub.db.changes import raise_serial, start_new_feed
from modhub.plugins.resources import IApi
from modhub.web.public_reads import ResponseCache, keep
from modhub.web.request import Request
from modhub_testing.mods import (
    OWNER,
    hide_mod,
    mod_address,
    new_mod,
    notes_of_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from tests.owning import edit_mod, write_note

pytestmark = pytest.mark.slow

NOTHING_KEPT = "modhub_testing.accounts modhub_testing.nothing_kept"
PER_REQUEST = {"date", "x-request-id"}
ADDRESSES = [
    "/api/modhub",
    "/api/modhub?size=2",
    "/api/modhub?q=mod",
    "/api/modhub?game=Portal&page=2&size=1",
    "/api/modhub?sort=top",
    "/api/modhub/games",
]


def shown(answer):
    headers = [pair for pair in answer.headerlist if pair[0].lower() not in PER_REQUEST]
    return answer.status, answer.body, sorted(headers)


def ask(site, url, method="GET", **headers):
    return site._gen_request(method, url, headers=headers, expect_errors=True)


def statements(site, url, **headers):
    with site.counted() as statements:
        ask(site, url, **headers)
    return len(statements)


@pytest.fixture
def site(start):
    """Its cache is empty."""
    return start(fresh=True)


@pytest.fixture
def sites(start, new_database):
    """Two applications with a cache and one without, over the same database."""
    cached = start(fresh=True)
    url = str(cached.registry.settings["sqlalchemy.url"])
    return [cached, start(url=url), start(NOTHING_KEPT, url=url)]


def test_a_repeated_read_asks_only_whether_anything_has_changed(site):
    mod = published_mod(site, title="mod")
    for url in ("/api/modhub", "/api/modhub?q=mod", mod_address(mod), "/api/modhub/games"):
        first = ask(site, url)
        assert statements(site, url) == 1
        again = ask(site, url)
        assert shown(again) == shown(first)
        assert again.headers["X-Request-Id"] != first.headers["X-Request-Id"]
        assert shown(ask(site, url, "HEAD")) == (first.status, b"", shown(first)[2])


@pytest.mark.postgres
@pytest.mark.slow
def test_each_change_is_seen_at_once_by_every_application(sites):
    """Random writes through any of them: later readers get what the database says."""
    rng = random.Random(14)
    mods = [published_mod(sites[0], title=f"mod {number}", games=["Portal"]) for number in range(3)]
    mods.append(new_mod(sites[0], title="mod draft"))
    admin = Admin(sites[0].config)

    def writes(site, mod):
        own, needed = site.as_account(OWNER), rng.choice(mods)["guid"]
        edit = partial(own.put_json, mod_address(mod), expect_errors=True)
        return [
            lambda: edit({"title": f"mod {rng.random()}"}),
            lambda: edit({"games": rng.sample(["Portal", "Doom"], 1)}),
            lambda: edit({"requires": [needed]}),
            lambda: site.as_account(8).put_json(mod_address(mod, "vote"), {"value": rng.choice([1, -1])}, status="*"),
            lambda: own.post(mod_address(mod, f"code?version={rng.random()}"), b"code", expect_errors=True),
            lambda: own.post(mod_address(mod, "publish"), expect_errors=True),
            lambda: hide_mod(site, mod),
            lambda: restore_mod(site, mod),
            lambda: mods.append(published_mod(site, title=f"mod {rng.random()}", games=["Portal"])),
            lambda: own.delete(mod_address(mod), expect_errors=True),
            lambda: commands.add_game(admin, "Portal", f"Portal {rng.random()}", None),
            lambda: commands.remove_game(admin, "Portal"),
        ]

    etags = {}
    for _ in range(30):
        write = rng.choice(writes(rng.choice(sites), rng.choice(mods)))
        write()
        for url in (*ADDRESSES, *map(mod_address, rng.sample(mods, 3))):
            expected = ask(sites[2], url)
            for site in sites[:2]:
                assert shown(ask(site, url)) == shown(expected), url
                condition = {"If-None-Match": etags.get(url, "")}
                assert shown(ask(site, url, **condition)) == shown(ask(sites[2], url, **condition)), url
            etags[url] = expected.headers.get("ETag", "")


def test_a_change_during_the_read_is_not_hidden_by_it(sites, monkeypatch):
    mod = published_mod(sites[0], title="before")
    real, written = CatalogueReader.find, []

    def read_then_write(self, *args):
        page = real(self, *args)
        if not written:
            written.append(True)
            edit_mod(sites[1], mod, title="after")
        return page

    monkeypatch.setattr(CatalogueReader, "find", read_then_write)
    titles = [ask(sites[0], "/api/modhub").json["mods"][0]["title"] for _ in range(3)]
    assert titles == ["before", "after", "after"]


def test_drafts_and_what_depends_on_more_than_the_copies_are_never_cached(site):
    mod, draft = published_mod(site), new_mod(site)
    note = notes_of_mod(site, mod)[0]["id"]
    for url in ("/api/modhub?sort=top", mod_address(mod, "changelog"), mod_address(mod, "vote"), mod_address(draft)):
        assert statements(site, url) == statements(site, url) >= 1
    write_note(site, mod, note, "corrected")
    assert "corrected" in ask(site, mod_address(mod, "changelog")).text
    upload_asset(site, draft, "code", version="1")
    publish_test_mod(site, draft)
    assert ask(site, mod_address(draft)).status_int == 200


def test_a_raised_serial_and_a_new_feed_empty_the_cache(site):
    for act in (raise_serial, start_new_feed):
        ask(site, "/api/modhub")
        assert statements(site, "/api/modhub") == 1
        with site.databases.write_session.begin() as session:
            act(session)
        assert statements(site, "/api/modhub") > 1


def put(cache, *, stamp=(1, "feed"), status=200, **headers):
    """Keep a response if it may be kept."""
    request = Request.blank("/")
    request.keep_under = stamp
    response = Response(body=b"x", headerlist=[("ETag", '"1"'), ("Content-Type", "text/plain")])
    response.status_int = status
    response.headers.update(headers)
    keep(cache, ("", "/", "", False), request, response)


@pytest.mark.parametrize("header", ["Set-Cookie", "Vary"])
def test_a_response_for_one_reader_is_never_cached(header):
    # T-B8
    cache = ResponseCache(lambda: (1, "feed"), 1_000_000)
    put(cache, **{header: "Cookie"})
    put(cache, stamp=None)
    put(cache, status=404)
    assert not cache.used
    put(cache)
    assert cache.used


def test_a_view_with_a_permission_cannot_be_cached(start, monkeypatch):
    def includeme(config):
        options = {"permission": CorePermission.CLOSED, "is_api": True, "response_cache": True}
        config.add_view(lambda *_: None, context=IApi, name="hello", **options)

    module = ModuleType("cached_feature")
    module.includeme = includeme
    monkeypatch.setitem(sys.modules, "cached_feature", module)
    with pytest.raises(ConfigurationExecutionError, match="only for views with the permission OPEN"):
        start("modhub_testing.accounts cached_feature", fresh=True)
