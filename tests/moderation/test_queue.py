"""The queue of moderators, and decisions about many at once."""

from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from modhub.db import now
from modhub_moderation.cases import queue_pages
from modhub_moderation.cases.models import Case, Decision
from modhub_testing.pages import form_at, messages_on
from tests.people import write

from .cases_kit import NOTICE, appeal, make_case, rule

pytestmark = pytest.mark.slow

QUEUE, MANY = "/Modhub/moderation/queue", "/Modhub/moderation/bulk"
FILLED = {"ground": "deceptive", "basis": "terms", "clause": "4", "facts": "The same advertisement, many times."}


def cases_on(page):
    return [int(link["href"].rpartition("/")[2]) for link in page.html.select("article h3 a")]


def article(page, case_id):
    return " ".join(page.html.find(id=f"case-{case_id}").find_parent("article").get_text(" ").split())


def choose(mo, *case_ids):
    """The form for many, with these cases ticked on the queue."""
    form = form_at(mo.pages.get(QUEUE), MANY)
    for box in form.fields["case"]:
        box.checked = int(box._value) in case_ids
    return form_at(form.submit(status=200), MANY)


def decide_about(mo, *case_ids, status=200, **fields):
    return decide_by(choose(mo, *case_ids), status, **fields)


def decide_by(form, status=200, **fields):
    for name, value in {**FILLED, **fields}.items():
        form[name] = value
    return form.submit(status=status)


def problems_on(page):
    return [str(line["data-problem"]) for line in page.html.select("[data-problem]")]


@pytest.mark.postgres
def test_open_cases_come_by_weight_then_by_age(site, ada, mo):
    assert messages_on(mo.pages.get(QUEUE)) == ["queue_empty"]
    _, cases = make_wave(site, ada, 4)
    for case_id, (weight, hours) in zip(cases, ((1, 1), (1, 9), (5, 0), (1, 3)), strict=True):
        moved = {"weight": weight, "opened_at": now() - timedelta(hours=hours)}
        write(site, update(Case).where(Case.id == case_id).values(moved))
    assert cases_on(mo.pages.get(QUEUE)) == [cases[2], cases[1], cases[3], cases[0]]
    rule(site, cases[1], "hide", mo)
    page = mo.pages.get(QUEUE)
    assert cases_on(page) == [cases[2], cases[3], cases[0]]
    assert NOTICE in article(page, cases[2])
    mo.pages.get(f"{QUEUE}?page=2", status=200)


def test_the_navigation_says_how_much_waits(site, ada, mo):
    def waiting(visitor):
        return [mark.text for mark in visitor.pages.get("/Modhub").html.select("nav .unread-count")]

    _, [case_id, _] = make_wave(site, ada, 2)
    assert (waiting(mo), waiting(ada)) == (["2"], [])
    decision_id = rule(site, case_id, "hide", mo)
    assert waiting(mo) == ["1"]
    appeal(site, decision_id)
    assert waiting(mo) == ["2"]
    assert mo.pages.get(QUEUE).html.find(id="appeals")


def test_owner_reporters_history_and_files_stand_side_by_side(site, ada, bob, mo):
    mod, other = ada.publish("Tool", "1"), bob.publish("Copy", "1")
    for person, own in ((ada, mod), (bob, other)):
        person.upload(own, "2", b"the same library")
    earlier = make_case(site, ada, mod, reporter=bob)
    first = rule(site, earlier, "hide", mo)
    rule(site, earlier, "release", mo, after=first)
    case_id = make_case(site, ada, mod, reporter=bob, stranger=True)
    shown = article(mo.pages.get(QUEUE), case_id)
    assert "Ada" in shown
    assert "1 decision against this account" in shown
    assert "2 notices, 1 of them acted on" in shown
    assert "1 without an account" in shown
    assert "2 decisions before" in shown
    assert "Version 1" in shown
    assert f"Also in the mods: {other['id']}" in shown
    assert "stranger@example.org" not in shown


@pytest.mark.postgres
def test_the_number_of_statements_does_not_grow(site, ada, bob, mo):
    seen = []
    for number in (1, 4):
        for index in range(number):
            make_case(site, ada, ada.publish(f"Tool {number} {index}"), reporter=bob)
        mo.pages.get(QUEUE)
        with site.counted() as statements:
            mo.pages.get(QUEUE)
        seen.append(len(statements))
    assert seen[0] == seen[1]


@pytest.mark.postgres
def test_chosen_cases_are_decided_together(site, ada, bob, mo):
    # C-QUE-5
    _, cases = make_wave(site, ada, 3)
    kept = bob.publish("Calm HUD")
    other = make_case(site, bob, kept, stranger=True)
    done = decide_about(mo, *cases, kind="delete", sure=True)
    assert messages_on(done) == ["many_decided"]
    assert problems_on(done) == []
    assert {mod["id"] for mod in site.get("/api/modhub").json["mods"]} == {kept["id"]}
    assert cases_on(mo.pages.get(QUEUE)) == [other]
    assert len(ada.emails("decision about")) == 3
    decide_about(mo, other, kind="block", hidesMods=True)
    assert site.get("/api/modhub").json["total"] == 0


@pytest.mark.postgres
def test_what_was_decided_meanwhile_or_is_ones_own_is_left_alone(site, ada, mo):
    # C-QUE-5, C-CAS-1
    mods, cases = make_wave(site, ada, 2)
    own, own_cases = make_wave(site, mo, 1)
    form = choose(mo, *cases, *own_cases)
    rule(site, cases[0], "dismiss", mo)
    done = decide_by(form, kind="hide")
    assert problems_on(done) == ["decided_already", "own_case"]
    assert {mod["id"] for mod in site.get("/api/modhub").json["mods"]} == {mods[0], *own}


def break_decisions(monkeypatch, errors):
    """Decisions in these cases fail when they are stored; which cases were tried."""
    tried, decide = list[int](), queue_pages.decide

    def break_some(session, registry, case_id, *more, **named):
        tried.append(case_id)
        decide(session, registry, case_id, *more, **named)
        if case_id in errors:
            raise errors[case_id]

    monkeypatch.setattr(queue_pages, "decide", break_some)
    return tried


def make_wave(site, owner, count):
    """The mods and their cases, the oldest first."""
    mods = [owner.publish(f"Tool {number}") for number in range(count)]
    return [mod["id"] for mod in mods], [make_case(site, owner, mod, stranger=True) for mod in mods]


@pytest.mark.postgres
def test_what_fails_stops_none_of_the_rest(site, ada, mo, monkeypatch):
    # C-QUE-5
    mods, cases = make_wave(site, ada, 3)
    before = len(ada.emails())
    break_decisions(monkeypatch, {cases[1]: IntegrityError("INSERT", {}, ValueError("secret"))})
    done = decide_about(mo, *cases, kind="hide")
    assert problems_on(done) == ["internal_error"]
    (problem,) = done.html.select("[data-problem]")
    assert f"Case {cases[1]}: " in problem.get_text()
    assert "secret" not in done.text
    assert [mod["id"] for mod in site.get("/api/modhub").json["mods"]] == [mods[1]]
    assert len(ada.emails()) - before == 2, "nothing of what failed was sent"


@pytest.mark.postgres
def test_the_rest_is_not_tried_while_the_database_is_gone(site, ada, mo, monkeypatch):
    # C-QUE-5: each try may wait for seconds, and others use the server meanwhile.
    _, cases = make_wave(site, ada, 7)
    tried = break_decisions(monkeypatch, dict.fromkeys([cases[0], *cases[2:]], PoolTimeout("gone")))
    done = decide_about(mo, *cases, kind="hide")
    assert tried == cases[:5], "one success between, then three failures"
    assert problems_on(done) == ["busy"] * 4 + ["not_tried"] * 2
    assert site.count_rows(Decision) == 1


def test_a_form_that_says_too_little_is_shown_again(site, ada, mo):
    # C-QUE-5
    _, cases = make_wave(site, ada, 2)
    for fields in ({"clause": ""}, {"kind": "delete"}):
        page = decide_about(mo, *cases, status=400, **{"kind": "hide", **fields})
        assert messages_on(page) == ["invalid_input"]
        form = form_at(page, MANY)
        assert form["cases"].value == " ".join(map(str, cases))
        assert form["facts"].value.strip() == FILLED["facts"]
    again = {**FILLED, "csrf_token": form["csrf_token"].value, "cases": form["cases"].value}
    mo.pages.post(MANY, {**again, "kind": "release"}, status=400)
    mo.pages.post(MANY, {**again, "kind": "hide", "cases": " ".join(map(str, range(1, 400)))}, status=400)
    mo.pages.get(f"{MANY}?case=none", status=400)
    mo.pages.get(MANY, status=303)
    assert site.count_rows(Decision) == 0
