"""Hostile headers on every readable address: no 500, and the log has the status that was sent."""

import json
import logging
import sys
from types import ModuleType

import pytest
from pyramid.events import NewResponse
from pyramid.response import Response

from modhub.plugins.resources import IRoot
from modhub.web.views import OPEN
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, published_mod, upload_asset
from modhub_testing.reference import calls
from tests import raw

pytestmark = [pytest.mark.long, pytest.mark.parametrize("dialect", ["sqlite"])]

FEATURES = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki"
LONG = "9" * 5000
DATES = ["Mon, 01 Jan 99999 00:00:00 GMT", LONG, "\xff\xfe"]
RANGES = ["bytes=" + ",".join(["0-0"] * 5000), "bytes=\xb2-", f"bytes={LONG},-{LONG}"]
UNREADABLE = {
    "If-Modified-Since": DATES,
    "If-Unmodified-Since": DATES,
    "Range": RANGES,
    "If-None-Match": ['"a', '"' * 9000, "\xff"],
    "If-Range": [*DATES, '"a'],
}
"""What cannot be read counts as not sent. More values: tests/core/test_downloads_conditions.py."""
OTHERS = {
    "Range": ["bytes=0-0", f"bytes=-{LONG}", f"bytes={LONG}-"],
    "If-None-Match": ["*", '"a"', ", ".join(['W/"a"'] * 3000)],
    "If-Match": ["*", '"', ",,,", '"a" ' * 5000, "\xff"],
    "Accept": ["*/*;q=9", f"a/b;q={LONG}", ";;;", "/" * 5000],
    "Accept-Language": ["de;q=9", f"de;q={LONG[:400]}", "*;q=0", "a-" * 250, "de," * 160, "\xe4"],
    "Accept-Encoding": ["gzip;q=9", "*;q=0", ";", "gzip," * 4000],
    "Cookie": ["=" * 9000, "modhub=\xff", '"', 'modhub-form="', "account=-1"],
    "Content-Length": ["0", "00", LONG, "-1", "x"],
    "Content-Type": ["x", "multipart/form-data; boundary=", "a/b; charset=\xff", "a/b; charset=bogus"],
    "User-Agent": ["\xff" * 5000, ""],
    "Referer": ["\xff", "x" * 9000],
    "Authorization": ["Bearer", "bearer \xff", "Basic YTpi", f"Bearer {LONG}", "Digest x"],
    "Host": ["", "\xff", "a:b", "[", f"a:{LONG}", "a/b?c#d"],
    "Date": DATES[:2],
    "X-Api-Key": ["\xff", ""],
    "X-Vhm-Root": ["/x", "\xff"],
}


def read(site, address, name="Cookie", value=f"account={OWNER}"):
    path, _, query = address.partition("?")
    key = name.upper().replace("-", "_")
    key = key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"
    return raw.call(site, path, query=query, **{"HTTP_COOKIE": f"account={OWNER}", key: value})


def addresses(site):
    """Every readable address with existing ids, and the links of the page's head."""
    mod = published_mod(site)
    files = upload_asset(site, mod, "images", content=b"\x89PNG\r\n\x1a\n")["assets"]
    key = {"X-Api-Key": "agent"}
    build = site.post("/api/modhub/app/linux?version=1", b"a build", headers=key).json["url"].rpartition("/")[2]
    site.put("/Modhub/api/wiki/index", b"# Wiki", headers=key)
    numbers = {"app": "linux", "linux": build, "file": files[0]["url"].rpartition("/")[2], "wiki": "index"}
    numbers |= {"images": files[1]["url"].rpartition("/")[2], "Wiki": "index", "static": "x.css", "game-icon": "9"}
    paths = {"/sitemap.xml?of=mods&part=0", "/Modhub?q=a&game=b&sort=top&page=2", "/Modhub/Wiki?q=a", "/nothing"}
    for method, path in calls(site):
        if method == "GET":
            segments = path.split("/")
            for at, segment in enumerate(segments):
                if segment == "{}":
                    segments[at] = numbers.get(segments[at - 1], str(mod["id"]))
            paths.add("/".join(segments))
    page = site.get("/Modhub").html
    paths |= {link["href"] for link in page.select('link[href^="/"]')}
    return sorted(paths)


def test_no_header_breaks_an_address(start, caplog):
    # C-ERR-8, C-HTTP-8, T-D9
    site = start(FEATURES, ApiPrivateKeys="agent Modhub:app Modhub:wiki")
    where = addresses(site)
    assert {"/sitemap.xml", "/opensearch.xml", "/Modhub/feed", "/Modhub/wiki.atom", "/Modhub/App/feed"} <= set(where)
    assert any(address.startswith("/static/modhub-") for address in where)
    caplog.set_level(logging.INFO, "modhub.requests")
    for turn, address in enumerate(where):
        bare = read(site, address)
        for name, values in UNREADABLE.items():
            for value in values[turn % 3 :: 3]:  # three addresses have them all
                answer = read(site, address, name, value)
                assert answer.status == bare.status, (address, name, value[:60])
                # Forms differ by their token, archives by the time in them, /readyz by the free space of that moment.
                kind = bare.headers.get("Content-Type", "")
                if address != "/readyz" and not kind.startswith(("text/html", "application/zip")):
                    assert answer.body == bare.body, (address, name, value[:60])
        for name, values in OTHERS.items():
            for value in values[turn % 3 :: 3]:
                caplog.clear()
                answer = read(site, address, name, value)
                assert answer.status < 500, (address, name, value[:60])
                assert answer.status != 416 or "text/plain" not in answer.headers["Content-Type"], address
                assert json.loads(caplog.messages[-1])["status"] == answer.status


def unsendable(_context, _request):
    return Response(headerlist=[("X-A", "\u20ac")])


def too_late(_context, request):
    request.add_finished_callback(_fail)
    return Response("well")


def _fail(*_):
    raise LookupError("secret detail")


def _fail_at(event):
    if event.request.path == "/api":
        raise LookupError("secret detail")


@pytest.fixture
def failing_feature(monkeypatch):
    feature = ModuleType("tests_failing_feature")

    def includeme(config):
        config.include("modhub")
        for name, view in (("unsendable", unsendable), ("too-late", too_late)):
            config.add_view(view, name=name, context=IRoot, is_api=False, request_method="GET", permission=OPEN)
        config.add_subscriber(_fail_at, NewResponse)

    feature.includeme = includeme
    monkeypatch.setitem(sys.modules, feature.__name__, feature)
    return feature.__name__


@pytest.mark.parametrize("path", ["/unsendable", "/too-late", "/api"])
def test_what_fails_behind_the_tweens_is_answered_and_logged_as_a_failure(start, failing_feature, caplog, path):
    # T-D9
    site = start(failing_feature)
    caplog.set_level(logging.INFO)
    assert not raw.call(site, path, "HEAD").body
    caplog.clear()
    answer = raw.call(site, path)
    assert answer.status == 500
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert ("application/json" if path == "/api" else "text/html") in answer.headers["Content-Type"]
    assert b"secret" not in answer.body
    (line,) = [json.loads(record.getMessage()) for record in caplog.records if record.name == "modhub.requests"]
    assert (line["status"], line["id"], line["path"]) == (500, answer.headers["X-Request-Id"], path)
    (failure,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert line["id"] in failure.getMessage()
    assert failure.exc_info
