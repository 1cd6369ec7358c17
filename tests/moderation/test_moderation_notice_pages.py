"""The form of a report, the receipt, and the emails to who reports."""

from typing import Any

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_moderation.cases.models import Case
from modhub_testing import Site, Start
from modhub_testing.mods import hide_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.people import Person, emails_to, register, text_of

from .reporters import STRANGER, cases_of, notices_of, report, start_moderated

pytestmark = pytest.mark.slow


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    return start_moderated(start, monkeypatch)


def filled(form: Any, **values: Any) -> Any:
    for name, value in {"ground": "stolen", "text": "Mine.", "goodFaith": True, **values}.items():
        form[name] = value
    return form


def decide(site: Site) -> None:
    """End all cases."""
    with site.databases.write_session.begin() as session:
        session.execute(update(Case).values(decided_at=now(), ended_at=now(), open_key=None))


def test_every_page_of_a_mod_and_author_leads_to_the_form(site: Site, ada: Person) -> None:
    # C-NTC-9
    mod = ada.publish(images=2)
    images = [file["url"].rpartition("/")[2] for file in mod["assets"] if file["kind"] == "image"]
    here, author = f"/Modhub/{mod['id']}", f"/Modhub/by/{ada.id}"
    links = site.get(here).html.select("main a[href*='/reports']")
    assert [link["href"] for link in links] == [f"{here}/reports"]
    assert [link["href"] for link in site.get(author).html.select(".report a")] == [f"{author}/reports"]
    own = ada.pages
    for address in (here, author):
        assert not own.get(address).html.select(".report")
    form = form_at(site.get(f"{here}/reports?asset={images[1]}"), f"{here}/reports")
    assert [value for value, *_ in form["assetId"].options] == ["", *images]
    assert form["assetId"].value == images[1]
    robots = site.get("/robots.txt").text
    assert "Disallow: /Modhub/*/reports" in robots
    assert "Disallow: /Modhub/notices/" in robots


def test_a_stranger_reports_by_form(site: Site, ada: Person) -> None:
    # C-NTC-1, C-NTC-3, C-NTC-9, T-G2
    mod = ada.publish("Tim & Co", images=1)
    path, visitor = f"/Modhub/{mod['id']}/reports", new_visitor(site)
    page = visitor.get(path)
    assert page.headers["Cache-Control"] == "no-store"
    assert page.html.find(id="address")["value"] == f"{site.registry.settings['modhub.base_url']}/Modhub/{mod['id']}"
    image = form_at(page, path)["assetId"].options[1][0]
    sent = filled(form_at(page, path), assetId=image, **STRANGER).submit(status=303)
    receipt = sent.follow()
    assert messages_on(receipt) == ["report_sent", "report_open"]
    assert receipt.headers["Referrer-Policy"] == "no-referrer"
    assert receipt.headers["Cache-Control"] == "no-store"
    (notice,) = notices_of(site)
    assert (notice.ground, notice.text, notice.asset_id) == ("stolen", "Mine.", int(image))
    assert (notice.name, notice.email, notice.account_id) == (*STRANGER.values(), None)
    address = sent.headers["Location"].partition("?")[0]
    assert messages_on(new_visitor(site).get(address)) == ["report_open"]
    told = " ".join(receipt.html.select_one("main dl").get_text(" ").split())
    assert told == (
        f"You reported The mod “Tim & Co” (number {mod['id']}) "
        "Your reason It is someone else's work, used without permission Your words Mine."
    )
    assert STRANGER["email"] not in receipt
    decide(site)
    assert messages_on(site.get(address)) == ["report_decided"]
    for wrong in ("x", address[-43:-1], notice.receipt_hash):
        site.get(f"/Modhub/notices/{wrong}", status=404)


def test_who_is_signed_in_needs_no_name_and_an_author_is_reported(site: Site, ada: Person, bob: Person) -> None:
    # C-NTC-4, C-NTC-9
    ada.publish()
    path, visitor = f"/Modhub/by/{ada.id}/reports", bob.pages
    form = form_at(visitor.get(path), path)
    assert {"name", "email", "assetId"}.isdisjoint(form.fields)
    filled(form).submit(status=303)
    (notice,), (case,) = notices_of(site), cases_of(site)
    assert (notice.account_id, notice.email, case.subject_kind) == (bob.id, None, "account")


def test_a_form_with_mistakes_says_all_of_them_and_keeps_what_was_typed(site: Site, ada: Person) -> None:
    # C-NTC-9
    path, visitor = f"/Modhub/{ada.publish()['id']}/reports", new_visitor(site)
    form = form_at(visitor.get(path, headers={"Accept-Language": "de"}), path)
    form["text"], form["email"] = "Sehr <b>kaputt</b>", "sam"
    again = form.submit(headers={"Accept-Language": "de"}, status=400)
    assert again.html.find(id="text").text.strip() == "Sehr <b>kaputt</b>"
    assert {error["id"] for error in again.html.select(".error")} == {
        "ground-error",
        "name-error",
        "email-error",
        "goodFaith-error",
    }
    assert [link["href"] for link in again.html.select("#errors a")] == ["#ground", "#name", "#email", "#goodFaith"]
    assert again.html.find(id="name-error").text == "Gib deinen Namen ein, in höchstens 120 Zeichen."
    assert notices_of(site) == []
    form = form_at(again, path)
    filled(form, **STRANGER).submit(status=303)


def test_the_form_exists_only_for_what_everybody_sees(site: Site, ada: Person, bob: Person) -> None:
    # C-NTC-2, C-PRO-2
    draft, mod = ada.draft(), ada.publish()
    path, visitor = f"/Modhub/{mod['id']}/reports", new_visitor(site)
    form = filled(form_at(visitor.get(path), path), **STRANGER)
    hide_mod(site, mod)
    form.submit(status=404)
    for absent in (draft["id"], mod["id"], 999, f"by/{ada.id}", f"by/{bob.id}", "by/999"):
        for caller in (new_visitor(site), ada.pages):
            caller.get(f"/Modhub/{absent}/reports", status=404)
    assert notices_of(site) == []


def test_too_many_reports_are_refused_on_the_form(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-NTC-5
    site = start_moderated(start, monkeypatch, notices=1)
    path, visitor = f"/Modhub/{register(site, 'Ada').publish()['id']}/reports", new_visitor(site)
    filled(form_at(visitor.get(path), path), **STRANGER).submit(status=303)
    again = filled(form_at(visitor.get(path), path), **STRANGER).submit(status=429)
    assert messages_on(again) == ["too_many_attempts"]
    assert again.html.find(id="text").text.strip() == "Mine."
    assert "Retry-After" in again.headers


def test_an_unconfirmed_address_gets_fixed_sentences_and_few(site: Site, ada: Person) -> None:
    # C-NTC-6
    mod = ada.publish("Zebra")
    receipts = [report(site, mod, text="secret words", locale="de").json["receipt"] for _ in range(4)]
    first, *others = emails_to(site, STRANGER["email"])
    assert [first["Subject"], len(others)] == ["Wir haben deine Meldung erhalten", 2]
    said = text_of(first)
    assert f"/Modhub/notices/{receipts[0]}" in said
    for text in ("Zebra", "secret", "Sam", "Schadsoftware", "Ada"):
        assert text not in said


def test_an_unconfirmed_account_is_written_to_as_a_stranger(site: Site, ada: Person) -> None:
    # C-NTC-6
    eve = register(site, "Eve", confirmed=False)
    report(site, ada.publish("Zebra"), by=eve)
    (arrived,) = emails_to(site, eve.address, "We have received your report")
    assert "Zebra" not in text_of(arrived)
    assert "malware" not in text_of(arrived)


def test_a_confirmed_address_is_told_what_arrived(site: Site, ada: Person, bob: Person) -> None:
    # C-NTC-6
    mod = ada.publish("Zebra www.example.com")
    receipt = report(site, mod, by=bob, text="secret words").json["receipt"]
    report(site, mod, by=bob)
    report(site, mod)
    arrived, _ = emails_to(site, bob.address, "We have received your report")
    said = text_of(arrived)
    assert "“Zebra www example com”" in said
    assert "It is malware" in said
    assert f"/Modhub/notices/{receipt}" in said
    assert "secret" not in said


def test_the_owner_is_not_told_who_reports(site: Site, ada: Person, bob: Person) -> None:
    # C-NTC-7
    report(site, ada.publish(), by=bob)
    assert emails_to(site, ada.address, "report") == []
    pages = ada.pages
    for address in ("/Modhub/mine", "/Modhub/account", "/Modhub/1"):
        assert "Bob" not in pages.get(address)
