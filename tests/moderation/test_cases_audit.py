"""Decisions and the audit trail: who changes, removes or moves one in the database is found, and nobody else."""

import json
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.admin.program import run_command
from modhub.audit.models import AuditEntry
from modhub_moderation.cases import decisions, upkeep
from modhub_moderation.cases.effects import begin_measures
from modhub_moderation.cases.models import Decision, DecisionKind
from modhub_testing import Site
from tests.people import Person

from .cases_kit import make_case, rule, ruling_of
from .conftest import make_moderator

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def faults(site: Site) -> list[str]:
    with site.databases.readonly_session() as session:
        return list(upkeep.verify_decisions(session))


def verify_audit(site: Site, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    capsys.readouterr()
    return run_command(site.config, ["-c", "x.ini", "audit", "verify"]), capsys.readouterr().out


def entries_of(session: Session) -> list[AuditEntry]:
    """The entries of decisions, oldest first."""
    decided = select(AuditEntry).where(AuditEntry.action == decisions.DECIDED)
    return list(session.scalars(decided.order_by(AuditEntry.id)))


def change(session: Session) -> int | None:
    """Other facts, and the entry says so too."""
    entry = entries_of(session)[1]
    decision = session.get_one(Decision, json.loads(entry.details)["decision"])
    decision.facts = "Nothing."
    said = {name: value for name, value in decisions.describe_decision(decision).items() if value is not None}
    entry.details = json.dumps(said)
    return entry.number


def remove(session: Session) -> int | None:
    """The decision and its entry."""
    entry = entries_of(session)[1]
    session.execute(delete(Decision).where(Decision.id == json.loads(entry.details)["decision"]))
    session.delete(entry)
    return entry.number


def reorder(session: Session) -> int | None:
    """The first and the last one change places."""
    first, _, last = entries_of(session)
    places = first.number, last.number
    for entry, place in ((first, -1), (last, places[0]), (first, places[1])):
        session.execute(update(AuditEntry).where(AuditEntry.id == entry.id).values(number=place))
    return places[0]


@pytest.mark.parametrize(
    "tamper",
    [change, remove, reorder],
)
def test_the_chain_finds_who_forges_a_decision_and_its_entry(
    site: Site, ada: Person, mo: Person, capsys: pytest.CaptureFixture[str], tamper: Any
) -> None:
    # C-AUD-2, C-CAS-8
    for number in range(3):
        rule(site, make_case(site, ada, ada.publish(f"Tool {number}")), ruling_of(DecisionKind.DISMISS), mo)
    assert verify_audit(site, capsys)[0] == 0
    with site.databases.write_session.begin() as session:
        place = tamper(session)
    assert faults(site) == [], "both were forged alike"
    code, said = verify_audit(site, capsys)
    finding = "is missing" if tamper is remove else "was changed or moved"
    assert (code, f"Entry {place} {finding}." in said.splitlines()) == (1, True), said


def test_the_records_show_decisions_that_changed_places(site: Site, ada: Person, mo: Person) -> None:
    # C-CAS-8
    case_id = make_case(site, ada, ada.publish("Tool"))
    first = rule(site, case_id, ruling_of(DecisionKind.HIDE), mo)
    second = rule(site, case_id, ruling_of(DecisionKind.RELEASE), mo, after=first)
    assert faults(site) == []
    with site.databases.write_session.begin() as session:
        earlier, later = (entry.id for entry in entries_of(session))
        for old, new in ((earlier, -1), (later, earlier), (-1, later)):
            session.execute(update(AuditEntry).where(AuditEntry.id == old).values(id=new))
    assert faults(site) == [f"decision {first} is recorded after decision {second}"]


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_decisions_at_once_are_no_fault(
    site: Site, ada: Person, bob: Person, mo: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-CAS-8: numbers of decisions are given before those of their entries.
    other = make_moderator(site, "Otto")
    cases = [make_case(site, owner, owner.publish("Tool")) for owner in (ada, bob)]
    numbers = list[int]()

    def decide_another_case(*arguments: Any, **named: Any) -> None:
        monkeypatch.setattr(decisions, "begin_measures", begin_measures)
        numbers.append(rule(site, cases[1], ruling_of(DecisionKind.DISMISS), mo))
        begin_measures(*arguments, **named)

    monkeypatch.setattr(decisions, "begin_measures", decide_another_case)
    numbers.append(rule(site, cases[0], ruling_of(DecisionKind.DISMISS), other))
    assert numbers == sorted(numbers, reverse=True)
    assert faults(site) == []
