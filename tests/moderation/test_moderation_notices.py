"""Reports by programs: who may, what is refused, which case they join."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import update

from modhub.db import now
from modhub_moderation.cases.models import Case
from modhub_moderation.notices import views
from modhub_testing.mods import hide_mod
from modhub_testing.workers import run_worker
from tests.people import Person, block, delete_person, make_key, register, write
from tests.races import at_once

from .reporters import STRANGER, cases_of, notices_of, report, start_moderated

pytestmark = pytest.mark.slow


@pytest.fixture
def site(start, monkeypatch):
    return start_moderated(start, monkeypatch)


def test_a_stranger_reports_a_mod_and_gets_a_receipt(site, ada):
    # C-NTC-1, C-NTC-3
    mod = ada.publish("Timer")
    text = "  It sends\r\nthe save files away.\0 "
    answer = report(site, mod, "deceptive", text=text, locale="de-AT", name=" Sam \n Stranger ")
    assert list(answer.json) == ["receipt"]
    assert answer.headers["Cache-Control"] == "no-store"
    (notice,), (case,) = notices_of(site), cases_of(site)
    assert (notice.ground, notice.text, notice.locale) == ("deceptive", "It sends\nthe save files away.", "de")
    assert (notice.account_id, notice.name, notice.email) == (None, "Sam   Stranger", "sam@example.org")
    assert answer.json["receipt"] not in {notice.receipt_hash, notice.receipt}
    assert (case.subject_kind, case.subject_id, case.owner_id, case.title) == ("mod", mod["id"], ada.id, "Timer")
    assert (case.origin, case.decided_at) == ("notice", None)


def test_all_notices_about_a_mod_and_its_images_are_one_case(site, ada, bob):
    # C-NTC-1, C-NTC-4
    mod, other = ada.publish(images=1), ada.publish("Other")
    image = int(next(file["url"] for file in mod["assets"] if file["kind"] == "image").rpartition("/")[2])
    report(site, mod, "broken")
    weak = cases_of(site)[0].weight
    # The name and address of an account are its own.
    report(site, mod, "illegal", by=bob, assetId=image, name="x" * 500, email="no address")
    report(site, other, "broken", assetId=None)
    first, second = cases_of(site)
    assert [(notice.case_id, notice.asset_id, notice.account_id, notice.email) for notice in notices_of(site)] == [
        (first.id, None, None, STRANGER["email"]),
        (first.id, image, bob.id, None),
        (second.id, None, None, STRANGER["email"]),
    ]
    assert first.weight > second.weight == weak
    write(site, update(Case).where(Case.id == first.id).values(decided_at=now(), open_key=None))
    report(site, mod)
    assert [case.subject_id for case in cases_of(site)] == [mod["id"], other["id"], mod["id"]]


def test_an_author_is_reported_where_there_is_a_page(site, ada, bob):
    # C-NTC-2, C-ERR-8
    sent = {"ground": "stolen", "text": "All are copies.", "goodFaith": True, **STRANGER}
    missing = site.post_json("/api/modhub/999/reports", sent, status=404)
    ada.draft()
    for absent in (ada.id, bob.id, 999, "x", 10**30):
        assert site.post_json(f"/api/modhub/authors/{absent}/reports", sent, status=404).body == missing.body
    ada.publish()
    site.post_json(f"/api/modhub/authors/{ada.id}/reports", sent, status=201)
    (case,) = cases_of(site)
    assert (case.subject_kind, case.subject_id, case.owner_id, case.title) == ("account", ada.id, ada.id, "Ada")
    site.post_json(f"/api/modhub/authors/{ada.id}/reports", {**sent, "assetId": 1}, status=400)


def test_drafts_hidden_and_absent_mods_are_one_404(site, ada, bob):
    # C-NTC-2, C-PRO-2, T-G1
    draft, hidden = ada.draft(), ada.publish()
    hide_mod(site, hidden)
    for who in (None, bob, ada):
        missing = report(site, 999, by=who, status=404)
        for unseen in (draft, hidden, "x", 10**30):
            assert report(site, unseen, by=who, status=404).body == missing.body
            assert report(site, unseen, by=who, status=404, goodFaith=False, text="").body == missing.body
    assert notices_of(site) == []
    assert cases_of(site) == []


def test_a_report_that_breaks_a_rule_is_refused_with_a_sentence(site, ada):
    # C-NTC-3
    mod = ada.publish(images=1)
    wrong = {
        "ground": ["MALWARE"],
        "text": [" \n\0 ", "x" * 2001],
        "goodFaith": [False],
        "name": ["", "x" * 121],
        "email": ["sam", "a@example.org, b@example.org"],
        "assetId": [1],
    }
    for field, values in wrong.items():
        for value in values:
            refused = report(site, mod, status=400, **{"ground": "other", field: value}).json
            assert (refused["error"], field in refused["message"]) == ("invalid_input", True), (field, value)
    report(site, mod, text="€" * 2000, name="n" * 120)
    assert len(notices_of(site)) == 1


def test_keys_and_blocked_accounts_report_nothing(site, ada, bob):
    # C-NTC-4, C-ERR-6; other bad tokens: modhub-verify.
    mod = ada.publish()
    of_key = site.post_json("/api/auth/exchange", {"key": make_key(site, ada.id)}).json["accessToken"]
    report(site, mod, by=Person(site, 0, "", of_key), status=401)
    block(site, bob.id)
    assert report(site, mod, by=bob, status=403).json["error"] == "account_blocked"
    assert notices_of(site) == []


@pytest.mark.postgres
def test_one_caller_and_one_account_send_so_many_in_a_window(start, monkeypatch):
    # C-NTC-5
    site = start_moderated(start, monkeypatch, notices=2)
    mod, bob = register(site, "Ada").publish(), register(site, "Bob")

    def send(caller, status, by=None, **fields):
        site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": f"192.0.2.{caller}"}
        return report(site, mod, by=by, status=status, **fields)

    send(1, 400, text="")
    send(1, 201)
    send(1, 201)
    full = send(1, 429)
    assert full.json["error"] == "too_many_attempts"
    assert full.headers["Retry-After"] == str(full.json["retryAfterSeconds"])
    send(2, 201, bob)
    send(3, 201, bob)
    send(4, 429, bob)
    send(4, 201)


@pytest.mark.postgres
def test_notices_at_the_same_moment_join_one_case(site, ada):
    # C-NTC-1
    mod, callers = ada.publish(), 6
    at_once([partial(report, site, mod, email=f"s{number}@example.org") for number in range(callers)])
    (case,) = cases_of(site)
    assert [notice.case_id for notice in notices_of(site)] == [case.id] * callers
    assert case.weight == 500 + callers


@pytest.mark.postgres
def test_a_mod_that_is_hidden_meanwhile_is_not_reported(site, ada, monkeypatch):
    mod, create = ada.publish(), views.create_notice

    def hide_first(*arguments):
        hide_mod(site, mod)
        return create(*arguments)

    monkeypatch.setattr(views, "create_notice", hide_first)
    report(site, mod, status=404)
    assert (notices_of(site), cases_of(site)) == ([], [])


@pytest.mark.postgres
def test_an_old_notice_is_erased_after_its_case_has_ended(site, ada, bob):
    # C-NTC-8, C-CAS-9
    mods = [ada.publish(title) for title in ("Old", "Fresh", "Open")]
    receipts = [report(site, mod, by=by, ground="stolen").json["receipt"] for mod in mods for by in (None, bob)]
    for mod, days in ((mods[0], 181), (mods[1], 179)):
        ended = now() - timedelta(days=days)
        is_about = Case.subject_id == mod["id"]
        write(site, update(Case).where(is_about).values(decided_at=ended, ended_at=ended, open_key=None))
    for mod in mods:
        site.delete(f"/api/modhub/{mod['id']}", headers=ada.bearer, status=204)
    assert run_worker(site.registry, "old notices")
    assert [case.title for case in cases_of(site)] == ["", "Fresh", "Open"]
    erased, kept = notices_of(site)[:2], notices_of(site)[2:]
    for notice in erased:
        assert (notice.text, notice.name, notice.email, notice.account_id, notice.receipt) == ("", *[None] * 4)
        assert (notice.ground, notice.erased_at is None) == ("stolen", False)
    assert [(notice.email, notice.account_id) for notice in kept] == [(STRANGER["email"], None), (None, bob.id)] * 2
    assert "report_decided" in site.get(f"/Modhub/notices/{receipts[0]}")


def test_the_notices_of_a_deleted_account_are_nobodys(site, ada, bob):
    # C-NTC-8
    report(site, ada.publish(), by=bob)
    delete_person(site, bob.id)
    (notice,) = notices_of(site)
    assert (notice.account_id, notice.text != "", notice.erased_at) == (None, True, None)
