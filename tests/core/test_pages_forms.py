"""Forms that are cross-site, expired, malformed or too large do nothing."""

import logging

import pytest

from modhub_testing.mods import OWNER, new_mod, published_mod
from modhub_testing.pages import form_at, new_visitor
from tests.owning import own_mods

NEW = "/Modhub/mine/new"


def token_of(author):
    return str(form_at(author.get(NEW), NEW)["csrf_token"].value)


def titles(site):
    return [mod["title"] for mod in own_mods(site)]


def test_a_form_without_its_token_does_nothing(site, author):
    # C-PAGE-6, T-C12
    of_another = token_of(new_visitor(site, 8))
    token_of(author)
    for fields in ({}, {"csrf_token": of_another}):
        page = author.post(NEW, {"title": "Forged", **fields}, status=400)
        assert "expired" in page.html.select_one("main").text
    assert titles(site) == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://mods.example.org"}, 303),
        ({}, 303),
        ({"Origin": "null", "Sec-Fetch-Site": "same-origin"}, 303),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://mods.example.org"}, 403),
        ({"Origin": "https://mods.example.org.evil.example"}, 403),
    ],
)
def test_a_form_of_another_origin_does_nothing(start, headers, status):
    # C-PAGE-8, T-C12
    site = start(modhub__base_url="https://mods.example.org")
    author = new_visitor(site, OWNER)
    author.extra_environ["wsgi.url_scheme"] = "https"
    author.post(NEW, {"title": "A", "csrf_token": token_of(author)}, headers=headers, status=status)
    assert titles(site) == (["A"] if status == 303 else [])


def test_streamed_forms_are_guarded_alike(site, author):
    mod = new_mod(site)
    address = f"/Modhub/mine/{mod['id']}/css"
    token = token_of(author)
    file = [("file", "a.css", b"x")]
    author.post(address, {"csrf_token": "wrong"}, upload_files=file, status=400)
    evil = {"Origin": "https://evil.example"}
    author.post(address, {"csrf_token": token}, upload_files=file, headers=evil, status=403)
    author.post(address, {"csrf_token": token}, status=400)
    author.post(address, b"x", content_type="text/plain", status=400)
    assert own_mods(site)[0]["assets"] == []
    author.post(address, {"csrf_token": token}, upload_files=file, status=303)


BROKEN = (
    (b"title=%ff%fe&csrf_token=%ff", "application/x-www-form-urlencoded"),
    (b"title=x", "application/x-www-form-urlencoded; charset=nonsense"),
    (b"title=x", "multipart/form-data"),
    (b"--b\r\n\r\n", "multipart/form-data; boundary=b"),
    (b"--b--\r\n", "multipart/form-data; boundary=b; charset=nonsense"),
    (b"--b--\r\n", "multipart/form-data; charset=idna"),
    (b"title=x", ";" * 20_000),
    (b"&" * 5000, "application/x-www-form-urlencoded"),
    (b'{"title": "x"}', "application/json"),
)


def test_a_broken_form_is_a_refusal_and_no_fault(site, author):
    token_of(author)
    mod = new_mod(site)
    for body, content_type in BROKEN:
        for address in (NEW, f"/Modhub/mine/{mod['id']}/code"):
            author.post(address, body, content_type=content_type, status=400)


def test_the_cookie_of_the_form_is_its_own_and_only_where_there_is_one(start):
    site = start(modhub__base_url="https://mods.example.org")
    author = new_visitor(site, OWNER)
    assert "Set-Cookie" not in new_visitor(site).get("/Modhub").headers
    cookie = author.get(NEW).headers["Set-Cookie"]
    assert cookie.startswith("__Host-modhub-form=")
    assert {"secure", "httponly", "samesite=lax", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()


def test_a_vote_is_a_form(site):
    mod = published_mod(site)
    voter = new_visitor(site, 8)
    assert voter.get(mod["url"]).headers["Cache-Control"] == "no-store"

    def press(value, status=303):
        form = form_at(voter.get(mod["url"]), f"{mod['url']}/vote")
        return voter.post(form.action, {"csrf_token": form["csrf_token"].value, "value": value}, status=status)

    assert press("1").headers["Location"] == f"{mod['url']}#votes"
    assert voter.get(mod["url"]).html.find("button", attrs={"aria-pressed": "true"})["value"] == "1"
    press("-1")
    assert site.get(f"/api/modhub/{mod['id']}/vote").json == {"ups": 0, "downs": 1}
    press("2", status=400)
    assert voter.get(f"{mod['url']}/vote", status=303).headers["Location"] == f"{mod['url']}#votes"


def test_who_may_not_vote_has_no_form(site, author):
    mod = published_mod(site)
    assert "Edit it" in author.get(mod["url"]).html.find(id="votes").text
    author.post(f"{mod['url']}/vote", {"csrf_token": token_of(author), "value": "1"}, status=403)
    anonymous = new_visitor(site)
    link = anonymous.get(mod["url"]).html.find(id="votes").a["href"]
    back = f"%2FModhub%2F{mod['id']}%2Fvote"
    assert anonymous.get(link, status=303).headers["Location"] == f"/Modhub/account/login?next={back}"
    anonymous.post(f"{mod['url']}/vote", {"value": "1"}, status=303)


@pytest.mark.parametrize(
    ("origin", "scheme", "level"),
    [
        ("https://mods.example.org", "https", logging.WARNING),
        ("https://evil.example\x1b[2J" + "x" * 1000, "http", logging.INFO),
    ],
)
def test_both_origins_of_a_refused_form_are_logged(start, caplog, origin, scheme, level):
    # T-D11, T-F11
    """A base_url with http behind a proxy that ends TLS makes every form foreign, and only the log can tell why."""
    author = new_visitor(start(modhub__base_url="http://mods.example.org"), OWNER)
    author.extra_environ["wsgi.url_scheme"] = scheme
    token = token_of(author)
    caplog.set_level(logging.INFO)
    for _ in range(2):  # one line for all forms of a site whose base_url is wrong
        author.post(NEW, {"title": "x", "csrf_token": token}, headers={"Origin": origin}, status=403)
    (record,) = [record for record in caplog.records if record.name == "modhub.ui.forms"]
    assert record.levelno == level
    message = record.getMessage()
    assert "modhub.base_url is http://mods.example.org" in message
    assert origin[:20] in message
    assert f"came by {scheme}://" in message
    assert len(message) < 400
    assert "\x1b" not in message
