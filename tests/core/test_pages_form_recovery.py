"""Form input survives an ended session or a replaced token, and is shown to nobody else."""

from typing import Any

import pytest

from modhub.base.body_rules import IBodyRules
from modhub.content import limits
from modhub_testing import Site, Start
from modhub_testing.mods import OWNER, new_mod, notes_of_mod, published_mod
from modhub_testing.pages import form_at, new_visitor, workshop_form

NEW = "/Modhub/mine/new"
WORDS = "<p>An hour's work & more</p>\n\nsecond"


@pytest.fixture
def author(site: Site) -> Site:
    return new_visitor(site, OWNER)


def ours(site: Site) -> dict[str, str]:
    return {"Origin": site.registry.settings["modhub.base_url"]}


def words(site: Site, number: int) -> str:
    (mod,) = (mod for mod in site.as_account(OWNER).get("/api/modhub/mine").json["mods"] if mod["id"] == number)
    return str(mod["description"])


def typed(page: Any, name: str) -> str:
    return str(page.html.find(id=name).text).removeprefix("\n")


def sign_out(author: Site) -> None:
    author.reset()


def sign_in(author: Site) -> None:
    author.set_cookie("account", str(OWNER))


def test_a_session_that_ends_during_an_edit_loses_nothing(site: Site, author: Site) -> None:
    mod = new_mod(site, title="Mine")
    address = f"/Modhub/mine/{mod['id']}"
    form = workshop_form(author, address)
    form["description"] = WORDS
    sign_out(author)
    page = form.submit(headers=ours(site), status=403)
    assert "signed out" in page.html.find(id="errors").text
    assert page.html.find(id="errors").a["href"].startswith("/Modhub/account/login?next=")
    assert page.html.find(id="errors").a["target"] == "_blank"
    assert typed(page, "description").replace("\r\n", "\n") == WORDS
    assert page.headers["Cache-Control"] == "no-store"
    assert words(site, mod["id"]) == ""
    # Signing in gives a new token, so that the form is shown once more, and then works.
    sign_out(author)
    sign_in(author)
    page = form_at(page, address).submit(headers=ours(site), status=400)
    assert typed(page, "description").replace("\r\n", "\n") == WORDS
    form_at(page, address).submit(headers=ours(site), status=303)
    assert words(site, mod["id"]).startswith("<p>An hour's work &amp; more</p>")


def test_an_expired_form_is_shown_again_and_can_be_sent(site: Site, author: Site) -> None:
    form = form_at(author.get(NEW), NEW)
    form["title"], form["games"] = "New here", "Portal\nQuake"
    sign_out(author)
    sign_in(author)
    page = form.submit(headers=ours(site), status=400)
    assert "another tab" in page.html.find(id="errors").text
    made = form_at(page, NEW).submit(headers=ours(site), status=303).follow()
    assert made.html.h1.text == "New here"
    assert made.html.find(id="games").text.split() == ["Portal", "Quake"]


def test_entries_and_votes_are_kept_too(site: Site, author: Site) -> None:
    mod = published_mod(site)
    (note,) = notes_of_mod(site, mod)
    address = f"/Modhub/mine/{mod['id']}/changelog/{note['id']}"
    form = workshop_form(author, address)
    form["text"] = "Faster"
    sign_out(author)
    page = form.submit(headers=ours(site), status=403)
    assert typed(page, "text") == "Faster"
    voter = new_visitor(site)
    page = voter.post(f"{mod['url']}/vote", {"value": "1"}, headers=ours(site), status=403)
    assert page.html.find("input", attrs={"name": "value"})["value"] == "1"


def test_a_file_is_chosen_again_and_the_script_stays_where_it_is(site: Site, author: Site) -> None:
    mod = new_mod(site)
    address = f"/Modhub/mine/{mod['id']}/images"
    file = [("file", "a.png", b"x")]
    anonymous = new_visitor(site)
    led = anonymous.post(address, {}, upload_files=file, headers=ours(site), status=303)
    assert led.headers["Location"].startswith("/Modhub/account/login?next=")
    script = {**ours(site), "Accept": "application/json", "Accept-Language": "de"}
    answer = anonymous.post(address, {}, upload_files=file, headers=script, status=403).json
    assert (answer["error"], answer["message"][:10]) == ("signed_out", "Du wurdest")
    assert answer["signIn"].startswith("/Modhub/account/login?next=")
    answer = author.post(address, {"csrf_token": "old"}, upload_files=file, headers=script, status=400).json
    assert answer["error"] == "form_lapsed"
    page = author.post(address, {"csrf_token": "old"}, upload_files=file, status=400)
    assert "expired" in page.html.find(id="image-file-error").text


def test_what_the_browser_does_not_vouch_for_gets_no_token_with_its_fields(site: Site, author: Site) -> None:
    for headers in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        page = author.post(NEW, {"title": "Planted"}, headers=headers, status=[400, 403])
        assert "Planted" not in page.text
        assert page.html.find("input", attrs={"name": "csrf_token"}) is None
        assert new_visitor(site).post(NEW, {"title": "Planted"}, headers=headers, status=303).body == b""


def test_only_declared_fields_are_shown_and_strangers_learn_nothing(site: Site) -> None:
    mod = new_mod(site, title="Canary")
    fields = {"title": "x", "password": "secret", "csrf_token": "secret"}
    there = new_visitor(site).post(f"/Modhub/mine/{mod['id']}", fields, headers=ours(site), status=403)
    absent = new_visitor(site).post("/Modhub/mine/999", fields, headers=ours(site), status=403)
    assert "secret" not in there.text
    assert "Canary" not in there.text
    assert len(there.html.find_all("textarea")) == len(absent.html.find_all("textarea")) == 1
    new_visitor(site, 8).post(f"/Modhub/mine/{mod['id']}", fields, headers=ours(site), status=404)


def test_the_server_takes_as_much_by_form_as_by_json(start: Start) -> None:
    rules = start().registry.getUtility(IBodyRules)
    for address in (NEW, "/Modhub/mine/1", "/Modhub/mine/1/changelog/2"):
        assert rules.find("POST", address).limit == limits.JSON_BODY
