"""The form of a report, the receipt, and the emails to who reports."""

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_moderation.cases.models import Case
from modhub_testing.mods import hide_mod
from modhub_testing.pages import form_at, messages_on, new_visitor
from tests.people import emails_to, register, text_of, write

from .reporters import STRANGER, cases_of, notices_of, report, start_moderated

pytestmark = pytest.mark.slow


@pytest.fixture
def site(start, monkeypatch):
    return start_moderated(start, monkeypatch)


def filled(form, **values):
    for name, value in {"ground": "stolen", "text": "Mine.", "goodFaith": True, **values}.items():
        form[name] = value
    return form


def test_every_page_of_a_mod_and_author_leads_to_the_form(site, ada):
    # C-NTC-9
    mod = ada.publish(images=2)
    images = [file["url"].rpartition("/")[2] for file in mod["assets"] if file["kind"] == "image"]
    here, author = f"/Modhub/{mod['id']}", f"/Modhub/by/{ada.id}"
    for address in (here, author):
        assert site.get(address).html.select_one(f"main a[href='{address}/reports']") is not None
        assert not ada.pages.get(address).html.select(".report")
    form = form_at(site.get(f"{here}/reports?asset={images[1]}"), f"{here}/reports")
    assert [value for value, *_ in form["assetId"].options] == ["", *images]
    assert form["assetId"].value == images[1]
    robots = site.get("/robots.txt").text
    assert "Disallow: /Modhub/*/reports" in robots
    assert "Disallow: /Modhub/notices/" in robots


def test_a_stranger_reports_by_form(site, ada):
    # C-NTC-1, C-NTC-3, C-NTC-9, T-G2
    mod = ada.publish("Tim & Co", images=1)
    path, visitor = f"/Modhub/{mod['id']}/reports", new_visitor(site)
    page = visitor.get(path)
    assert page.headers["Cache-Control"] == "no-store"
    image = form_at(page, path)["assetId"].options[1][0]
    sent = filled(form_at(page, path), assetId=image, **STRANGER).submit(status=303)
    receipt = sent.follow()
    assert messages_on(receipt) == ["report_sent", "report_open"]
    assert receipt.headers["Referrer-Policy"] == "no-referrer"
    assert receipt.headers["Cache-Control"] == "no-store"
    (notice,) = notices_of(site)
    assert (notice.asset_id, notice.name, notice.email) == (int(image), *STRANGER.values())
    told = " ".join(receipt.html.select_one("main dl").get_text(" ").split())
    assert told == (
        f"You reported The mod “Tim & Co” (number {mod['id']}) "
        "Your reason It is someone else's work, used without permission Your words Mine."
    )
    assert STRANGER["email"] not in receipt
    address = sent.headers["Location"].partition("?")[0]
    write(site, update(Case).values(decided_at=now(), ended_at=now(), open_key=None))
    assert messages_on(new_visitor(site).get(address)) == ["report_decided"]
    for wrong in ("x", address[-43:-1], notice.receipt_hash):
        site.get(f"/Modhub/notices/{wrong}", status=404)


def test_who_is_signed_in_needs_no_name_and_an_author_is_reported(site, ada, bob):
    # C-NTC-4, C-NTC-9
    ada.publish()
    path, visitor = f"/Modhub/by/{ada.id}/reports", bob.pages
    form = form_at(visitor.get(path), path)
    assert {"name", "email", "assetId"}.isdisjoint(form.fields)
    filled(form).submit(status=303)
    (notice,), (case,) = notices_of(site), cases_of(site)
    assert (notice.account_id, notice.email, case.subject_kind) == (bob.id, None, "account")


def test_a_form_with_mistakes_says_all_of_them_and_keeps_what_was_typed(site, ada):
    # C-NTC-9
    path, visitor = f"/Modhub/{ada.publish()['id']}/reports", new_visitor(site)
    form = form_at(visitor.get(path, headers={"Accept-Language": "de"}), path)
    form["text"], form["email"] = "Sehr <b>kaputt</b>", "sam"
    again = form.submit(headers={"Accept-Language": "de"}, status=400)
    assert again.html.find(id="text").text.strip() == "Sehr <b>kaputt</b>"
    assert [link["href"] for link in again.html.select("#errors a")] == ["#ground", "#name", "#email", "#goodFaith"]
    assert again.html.find(id="name-error").text == "Gib deinen Namen ein, in höchstens 120 Zeichen."
    filled(form_at(again, path), **STRANGER).submit(status=303)


def test_the_form_exists_only_for_what_everybody_sees(site, ada, bob):
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


def test_an_unconfirmed_address_gets_fixed_sentences_and_few(site, ada):
    # C-NTC-6
    mod = ada.publish("Zebra")
    receipts = [report(site, mod, text="secret words", locale="de").json["receipt"] for _ in range(4)]
    first, *others = emails_to(site, STRANGER["email"])
    assert [first["Subject"], len(others)] == ["Wir haben deine Meldung erhalten", 2]
    said = text_of(first)
    assert f"/Modhub/notices/{receipts[0]}" in said
    for text in ("Zebra", "secret", "Sam", "Schadsoftware", "Ada"):
        assert text not in said


def test_a_confirmed_address_alone_is_told_what_arrived(site, ada, bob):
    # C-NTC-6, C-NTC-7
    mod, eve = ada.publish("Zebra www.example.com"), register(site, "Eve", confirmed=False)
    receipt = report(site, mod, by=bob, text="secret words").json["receipt"]
    report(site, mod, by=eve)
    (arrived,), (to_eve,) = (emails_to(site, to.address, "We have received your report") for to in (bob, eve))
    said = text_of(arrived)
    for words in ("“Zebra www example com”", "It is malware", f"/Modhub/notices/{receipt}"):
        assert words in said
    assert "secret" not in said
    assert "Zebra" not in text_of(to_eve)
    # The owner is not told who reports.
    assert emails_to(site, ada.address, "report") == []
    for address in ("/Modhub/mine", "/Modhub/account", "/Modhub/1"):
        assert "Bob" not in ada.pages.get(address)


def test_too_many_reports_are_refused_on_the_form(start, monkeypatch):
    # C-NTC-5
    site = start_moderated(start, monkeypatch, notices=1)
    path, visitor = f"/Modhub/{register(site, 'Ada').publish()['id']}/reports", new_visitor(site)
    filled(form_at(visitor.get(path), path), **STRANGER).submit(status=303)
    refused = filled(form_at(visitor.get(path), path), **STRANGER).submit(status=429)
    assert messages_on(refused) == ["too_many_attempts"]
    assert refused.html.find(id="text").text.strip() == "Mine."
