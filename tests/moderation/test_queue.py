"""The queue of moderators, and decisions about many at once."""

import sqlite3
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from modhub.base.errors import OwnershipLost
from modhub.db import now
from modhub_moderation.cases import queue_run
from modhub_moderation.cases.models import Case, Decision, DecisionKind
from modhub_moderation.cases.queue_bulk import BulkItem
from modhub_moderation.cases.rulings import Ruling
from modhub_testing import Site
from modhub_testing.pages import form_at, messages_on
from tests.people import Person

from .cases_kit import make_case, rule, ruling_of

pytestmark = pytest.mark.slow

QUEUE, BULK = "/Modhub/moderation/queue", "/Modhub/moderation/bulk"
FILLED = {"ground": "deceptive", "basis": "terms", "clause": "4", "facts": "The same advertisement, many times."}


def cases_on(page: Any) -> list[int]:
    return [int(link["href"].rpartition("/")[2]) for link in page.html.select("article h3 a")]


def article(page: Any, case_id: int) -> str:
    return " ".join(page.html.find(id=f"case-{case_id}").find_parent("article").get_text(" ").split())


def counts(site: Site, *models: Any) -> list[int]:
    return [site.count_rows(model) for model in models]


def ask(mo: Person, status: int = 200, **fields: Any) -> Any:
    """The list of what would happen."""
    form = form_at(mo.pages.get(BULK), BULK)
    for name, value in {**FILLED, **fields}.items():
        form[name] = value
    return form.submit(status=status)


def confirm(page: Any) -> Any:
    return form_at(page, BULK).submit(status=200)


def items_on(page: Any) -> list[str]:
    return [str(line["data-item"]) for line in page.html.select("[data-item]")]


def problems_on(page: Any) -> list[str]:
    return [str(line["data-problem"]) for line in page.html.select("[data-problem]")]


def test_it_is_of_moderators_alone(site: Site, ada: Person) -> None:
    # C-QUE-1
    for path in (QUEUE, BULK):
        site.get(path, status=404)
        ada.pages.get(path, status=404)
        ada.pages.post(path, {"confirmed": "1"}, status="4*")


@pytest.mark.postgres
def test_open_cases_come_by_weight_then_by_age(site: Site, ada: Person, mo: Person) -> None:
    # C-QUE-1
    assert messages_on(mo.pages.get(QUEUE)) == ["queue_empty"]
    mods = [ada.publish(f"Tool {number}") for number in range(4)]
    cases = [make_case(site, ada, mod, stranger=True) for mod in mods]
    with site.databases.write_session.begin() as session:
        for case_id, (weight, hours) in zip(cases, ((1, 1), (1, 9), (5, 0), (1, 3)), strict=True):
            moved = {"weight": weight, "opened_at": now() - timedelta(hours=hours)}
            session.execute(update(Case).where(Case.id == case_id).values(moved))
    assert cases_on(mo.pages.get(QUEUE)) == [cases[2], cases[1], cases[3], cases[0]]
    rule(site, cases[1], ruling_of(DecisionKind.HIDE), mo)
    assert cases_on(mo.pages.get(QUEUE)) == [cases[2], cases[3], cases[0]]
    assert mo.pages.get(f"{QUEUE}?page=2").status_int == 200


def test_owner_reporters_history_and_files_stand_side_by_side(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    # C-QUE-2
    mod, other = ada.publish("Tool", "1"), bob.publish("Copy", "1")
    for person, own in ((ada, mod), (bob, other)):
        person.upload(own, "2", b"the same library")
    earlier = make_case(site, ada, mod, reporter=bob)
    first = rule(site, earlier, ruling_of(DecisionKind.HIDE), mo)
    rule(site, earlier, ruling_of(DecisionKind.RELEASE), mo, after=first)
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
def test_the_number_of_statements_does_not_grow(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    seen = []
    for number in (1, 4):
        for index in range(number):
            make_case(site, ada, ada.publish(f"Tool {number} {index}"), reporter=bob)
        mo.pages.get(QUEUE)
        with site.counted() as statements:
            mo.pages.get(QUEUE)
        seen.append(len(statements))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("kind", ["hide", "delete"])
@pytest.mark.postgres
def test_a_wave_is_listed_and_then_decided_at_once(site: Site, ada: Person, bob: Person, mo: Person, kind: str) -> None:
    # C-QUE-5
    mods = [ada.publish(f"Coins {number}") for number in range(4)]
    kept, own = bob.publish("Calm HUD"), mo.publish("Mine")
    case_id = make_case(site, ada, mods[0], stranger=True)
    hidden = make_case(site, bob, bob.publish("Hidden"), stranger=True)
    hidden_mod = rule(site, hidden, ruling_of(DecisionKind.HIDE), mo)
    assert hidden_mod
    listed = ask(mo, kind=kind, accounts=str(ada.id), mods=f"{own['id']}, 987654")
    assert len(items_on(listed)) == 4
    assert f"mod:{mods[0]['id']}:0:0" in items_on(listed) or f"mod:{mods[0]['id']}:{case_id}:0" in items_on(listed)
    assert sorted(problems_on(listed)) == ["gone", "own_case"]
    assert site.get("/api/modhub").json["total"] == 6, "nothing has happened yet"
    done = confirm(listed)
    assert messages_on(done) == ["bulk_decided"]
    assert {mod["id"] for mod in site.get("/api/modhub").json["mods"]} == {kept["id"], own["id"]}
    with site.databases.readonly_session() as session:
        decided = session.scalars(select(Decision).where(Decision.moderator_id == mo.id, Decision.kind == kind)).all()
        assert len(decided) == 4 + (kind == "hide")
        assert session.scalar(select(func.count()).select_from(Case).where(Case.decided_at.is_(None))) == 0
    assert len(ada.emails()) >= 4
    # The same list again decides nothing twice.
    again = confirm(listed)
    assert problems_on(again)
    assert counts(site, Decision) == [4 + 1]


def test_accounts_are_blocked_with_their_mods(site: Site, ada: Person, bob: Person, mo: Person) -> None:
    # C-QUE-5
    ada.publish("Coins")
    bob.publish("More coins")
    listed = ask(mo, kind="block", accounts=str(ada.id), mods=str(bob.publish("Third")["id"]), hidesMods=True)
    assert sorted(items_on(listed)) == [f"account:{ada.id}:0:0", f"account:{bob.id}:0:0"]
    assert "1 mod will be hidden" in listed.text
    assert "2 mods will be hidden" in listed.text
    confirm(listed)
    assert site.get("/api/modhub").json["total"] == 0
    ada.call("put_json", "/api/modhub/1", params={"title": "x"}, status=403)


def test_chosen_cases_are_dismissed_together(site: Site, ada: Person, mo: Person) -> None:
    # C-QUE-5
    cases = [make_case(site, ada, ada.publish(f"Tool {number}"), stranger=True) for number in range(3)]
    form = form_at(mo.pages.get(QUEUE), BULK)
    for box in form.fields["case"][:2]:
        box.checked = True
    chosen = {int(box._value) for box in form.fields["case"][:2]}
    form = form_at(form.submit("begin", status=200), BULK)
    for name, value in {"kind": "dismiss", "facts": "Nothing to see."}.items():
        form[name] = value
    confirm(form.submit(status=200))
    assert set(cases_on(mo.pages.get(QUEUE))) == set(cases) - chosen


@pytest.mark.postgres
def test_what_was_decided_meanwhile_is_left_alone(site: Site, ada: Person, mo: Person) -> None:
    # C-QUE-5
    mods = [ada.publish(f"Tool {number}") for number in range(2)]
    cases = [make_case(site, ada, mod, stranger=True) for mod in mods]
    form = form_at(mo.pages.get(QUEUE), BULK)
    for box in form.fields["case"]:
        box.checked = True
    form = form_at(form.submit("begin", status=200), BULK)
    for name, value in {**FILLED, "kind": "hide"}.items():
        form[name] = value
    listed = form.submit(status=200)
    rule(site, cases[0], ruling_of(DecisionKind.DISMISS), mo)
    done = confirm(listed)
    assert problems_on(done) == ["decided_already"]
    assert [mod["id"] for mod in site.get("/api/modhub").json["mods"]] == [mods[0]["id"]]


def break_decisions(monkeypatch: pytest.MonkeyPatch, errors: dict[int, Exception]) -> list[int]:
    """Decisions about these mods fail when they are stored; which mods were tried."""
    tried, decide_item = list[int](), queue_run.decide_item

    def break_some(session: Session, registry: Any, item: BulkItem, ruling: Ruling, moderator_id: int) -> None:
        tried.append(item.number)
        decide_item(session, registry, item, ruling, moderator_id)
        if item.number in errors:
            raise errors[item.number]

    monkeypatch.setattr(queue_run, "decide_item", break_some)
    return tried


LOCKED = sqlite3.OperationalError("database is locked")
LOCKED.sqlite_errorcode = sqlite3.SQLITE_BUSY
FAULTS = [
    ("internal_error", IntegrityError("INSERT", {}, ValueError("secret"))),
    ("internal_error", RuntimeError("secret")),
    ("internal_error", OwnershipLost()),
    ("busy", OperationalError("UPDATE", {}, LOCKED)),
    ("busy", PoolTimeout("secret")),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault[1]).__name__)
@pytest.mark.postgres
def test_what_fails_stops_none_of_the_rest(
    site: Site, ada: Person, mo: Person, monkeypatch: pytest.MonkeyPatch, fault: tuple[str, Exception]
) -> None:
    # C-QUE-5
    mods = [ada.publish(f"Tool {number}")["id"] for number in range(3)]
    listed, before = ask(mo, kind="hide", mods=" ".join(map(str, mods))), len(ada.emails())
    code, error = fault
    break_decisions(monkeypatch, {mods[1]: error})
    done = confirm(listed)
    assert problems_on(done) == [code]
    (problem,) = done.html.select("[data-problem]")
    assert f"Mod {mods[1]} " in problem.get_text()
    assert "secret" not in done.text
    assert [mod["id"] for mod in site.get("/api/modhub").json["mods"]] == [mods[1]]
    assert len(ada.emails()) - before == 2, "nothing of what failed was sent"


@pytest.mark.postgres
def test_the_rest_is_not_tried_while_the_database_is_gone(
    site: Site, ada: Person, mo: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-QUE-5: each try may wait for seconds, and others use the server meanwhile.
    mods = [ada.publish(f"Tool {number}")["id"] for number in range(7)]
    listed = ask(mo, kind="hide", mods=" ".join(map(str, mods)))
    tried = break_decisions(monkeypatch, dict.fromkeys([mods[0], *mods[2:]], PoolTimeout("gone")))
    done = confirm(listed)
    assert tried == mods[:5], "one success between, then three failures"
    assert problems_on(done) == ["busy"] * 4 + ["not_tried"] * 2
    assert counts(site, Decision) == [1]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "hide"},
        {"kind": "hide", "mods": "12 x"},
        {"kind": "hide", "mods": "1", "clause": ""},
        {"kind": "hide", "mods": "1", "facts": ""},
        {"kind": "hide", "mods": " ".join(map(str, range(1, 400)))},
    ],
)
def test_a_form_that_says_too_little_is_shown_again(site: Site, mo: Person, fields: dict[str, str]) -> None:
    page = ask(mo, status=400, **fields)
    assert messages_on(page) == ["invalid_input"]
    form = form_at(page, BULK)
    assert form["mods"].value.strip() == fields.get("mods", "")
    mo.pages.post(BULK, {**FILLED, "csrf_token": form["csrf_token"].value, "kind": "release", "mods": "1"}, status=400)
    sent = {**FILLED, "csrf_token": form["csrf_token"].value, "kind": "hide", "confirmed": "1", "item": "mod:1"}
    mo.pages.post(BULK, sent, status=400)
