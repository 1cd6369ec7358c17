"""Form input survives an ended session or a replaced token, and is shown to nobody else."""

from modhub.base.body_rules import BodyRules
from modhub.content import limits
from modhub_testing.mods import OWNER, new_mod, published_mod
from modhub_testing.pages import form_at, new_visitor, workshop_form
from tests.owning import own_mods

NEW = "/Modhub/mine/new"
WORDS = "<p>An hour's work & more</p>\n\nsecond"


def ours(site):
    return {"Origin": site.registry.settings["modhub.base_url"]}


def words(site, number):
    (mod,) = (mod for mod in own_mods(site) if mod["id"] == number)
    return str(mod["description"])


def typed(page, name):
    return str(page.html.find(id=name).text).removeprefix("\n").replace("\r\n", "\n")


def test_a_session_that_ends_during_an_edit_loses_nothing(site, author):
    mod = new_mod(site, title="Mine")
    address = f"/Modhub/mine/{mod['id']}"
    form = workshop_form(author, address)
    form["description"] = WORDS
    author.reset()
    page = form.submit(headers=ours(site), status=403)
    assert "signed out" in page.html.find(id="errors").text
    assert page.html.find(id="errors").a["href"].startswith("/Modhub/account/login?next=")
    assert page.html.find(id="errors").a["target"] == "_blank"
    assert typed(page, "description") == WORDS
    assert page.headers["Cache-Control"] == "no-store"
    assert words(site, mod["id"]) == ""
    # Signing in gives a new token, so that the form is shown once more, and then works.
    author.reset()
    author.set_cookie("account", str(OWNER))
    page = form_at(page, address).submit(headers=ours(site), status=400)
    assert typed(page, "description") == WORDS
    form_at(page, address).submit(headers=ours(site), status=303)
    assert words(site, mod["id"]).startswith("<p>An hour's work &amp; more</p>")


def test_a_vote_is_kept_too(site):
    mod = published_mod(site)
    page = new_visitor(site).post(f"{mod['url']}/vote", {"value": "1"}, headers=ours(site), status=403)
    assert page.html.find("input", attrs={"name": "value"})["value"] == "1"


def test_a_file_is_chosen_again_and_the_script_stays_where_it_is(site, author):
    mod = new_mod(site)
    address = f"/Modhub/mine/{mod['id']}/images"
    file = [("file", "a.png", b"x")]
    anonymous = new_visitor(site)
    script = {**ours(site), "Accept": "application/json", "Accept-Language": "de"}
    answer = anonymous.post(address, {}, upload_files=file, headers=script, status=403).json
    assert (answer["error"], answer["message"][:10]) == ("signed_out", "Du wurdest")
    assert answer["signIn"].startswith("/Modhub/account/login?next=")
    answer = author.post(address, {"csrf_token": "old"}, upload_files=file, headers=script, status=400).json
    assert answer["error"] == "form_lapsed"
    page = author.post(address, {"csrf_token": "old"}, upload_files=file, status=400)
    assert "expired" in page.html.find(id="image-file-error").text


def test_what_the_browser_does_not_vouch_for_gets_no_token_with_its_fields(site, author):
    for headers in ({}, {"Origin": "null"}):
        page = author.post(NEW, {"title": "Planted"}, headers=headers, status=[400, 403])
        assert "Planted" not in page.text
        assert page.html.find("input", attrs={"name": "csrf_token"}) is None
        assert new_visitor(site).post(NEW, {"title": "Planted"}, headers=headers, status=303).body == b""


def test_only_declared_fields_are_shown_and_strangers_learn_nothing(site):
    mod = new_mod(site, title="Canary")
    fields = {"title": "x", "password": "secret", "csrf_token": "secret"}
    there = new_visitor(site).post(f"/Modhub/mine/{mod['id']}", fields, headers=ours(site), status=403)
    assert "secret" not in there.text
    assert "Canary" not in there.text
    assert len(there.html.find_all("textarea")) == 1
    new_visitor(site, 8).post(f"/Modhub/mine/{mod['id']}", fields, headers=ours(site), status=404)


def test_the_server_takes_as_much_by_form_as_by_json(start):
    rules = start().find_service(BodyRules)
    for address in (NEW, "/Modhub/mine/1", "/Modhub/mine/1/changelog/2"):
        assert rules.find("POST", address).limit == limits.JSON_BODY
