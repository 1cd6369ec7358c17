"""Decisions: what they do, whom they are told, how they are replaced, and that they cannot be changed unnoticed."""

from datetime import timedelta
from typing import NamedTuple

import pytest
from sqlalchemy import select, update

from modhub.audit.models import AuditEntry
from modhub.base.errors import ApiError
from modhub.db import now
from modhub_auth.blocking import find_blocked
from modhub_moderation.cases import decisions
from modhub_moderation.cases.models import Appeal, AppealOutcome, Decision
from modhub_testing.mods import hide_mod
from tests.people import delete_person, emails_to, read, register, text_of, write

from .cases_kit import FACTS, NOTICE, STRANGER, answer_appeal, appeal, appeal_link, case_of, make_case, rule
from .conftest import make_moderator
from .reporters import report

pytestmark = pytest.mark.slow


class State(NamedTuple):
    """What everybody sees."""

    mod: int
    """The status of the mod's page."""
    text: bool
    """Whether it shows its description."""
    blocked: bool


SHOWN = State(200, True, False)
KINDS = {
    "hide": ({}, State(404, False, False)),
    "remove": ({"part": "description"}, State(200, False, False)),
    "block": ({}, State(200, True, True)),
    "delete": ({}, State(404, False, False)),
}
WITH_MODS = ({"hides_mods": True}, State(404, False, True))
NOTICED, OWN = (True, AppealOutcome.REVERSED), (False, AppealOutcome.UPHELD)
TABLE = [
    *((kind, *row, *NOTICED) for kind, row in KINDS.items()),
    ("block", *WITH_MODS, *NOTICED),
    ("hide", *KINDS["hide"], *OWN),
]


def deeds(site):
    """What was recorded of cases, whatever came first."""
    return sorted(read(site, select(AuditEntry.action).where(AuditEntry.target_kind == "case")))


def state_of(site, mod, owner):
    answer = site.get(f"/Modhub/{mod['id']}", expect_errors=True)
    with site.databases.readonly_session() as session:
        blocked = find_blocked(session, [owner.id])
    return State(answer.status_int, "What it is for" in answer.text, bool(blocked))


@pytest.mark.parametrize(("kind", "choice", "expected", "reported", "outcome"), TABLE)
def test_every_decision_origin_and_outcome(  # noqa: PLR0917 - the table
    site, ada, bob, mo, kind, choice, expected, reported, outcome, mod
):
    # C-CAS-3, C-CAS-6, C-CAS-7, C-APL-1
    assert state_of(site, mod, ada) == SHOWN
    case_id = make_case(site, ada, mod, reporter=bob if reported else None, stranger=reported)
    decision_id = rule(site, case_id, kind, mo, **choice)
    assert state_of(site, mod, ada) == expected
    (statement,) = map(text_of, ada.emails("decision about"))
    for words in (FACTS, "our terms: § 4", "Malware", "report that we received" if reported else "own initiative"):
        assert words in statement
    assert "A person made the decision" in statement
    assert NOTICE not in statement
    assert "Bob" not in statement.replace(appeal_link(statement), "")  # any letters can be in it
    whole, fixed = (outcomes(site, address) for address in (bob.address, STRANGER))
    assert [len(whole), len(fixed)] == [reported, reported]
    if reported:
        assert FACTS in whole[0]
        assert "acted on it" in fixed[0]
        assert FACTS not in fixed[0]
        assert "Tool" not in fixed[0]
    assert deeds(site) == ["case decided"]
    answer_appeal(site, appeal(site, decision_id), outcome, make_moderator(site, "Otto"))
    reversed_ = outcome is AppealOutcome.REVERSED
    assert state_of(site, mod, ada) == (SHOWN if reversed_ and kind != "delete" else expected)
    (told,) = map(text_of, ada.emails("appeal"))
    assert "We looked at it together." in told
    assert ("is undone" in told, "stands" in told) == (reversed_, not reversed_)
    assert len(outcomes(site, bob.address)) == reported + (reported and reversed_)
    again = ["case decided"] if reversed_ else []
    assert deeds(site) == ["appeal decided", "case decided", *again, "decision appealed"]
    case = case_of(site, case_id)
    assert case.decided_at is not None
    assert case.ended_at is not None
    assert case.open_key is None


def outcomes(site, address):
    return [text_of(message) for message in emails_to(site, address, "your report")]


def test_the_outcome_leads_to_what_was_reported_and_decided(site, mo, mod):
    # C-CAS-7, C-NTC-3, C-NTC-7
    receipt = report(site, mod, text="It calls home.", email=STRANGER).json["receipt"]
    rule(site, 1, "hide", mo)
    (message,) = emails_to(site, STRANGER, "We have decided about your report")
    assert f"{site.registry.settings['modhub.base_url']}/Modhub/notices/{receipt}\n" in text_of(message)
    page = site.get(f"/Modhub/notices/{receipt}")
    for text in ("Your report was decided. The mod is hidden", "“Tool”", "It calls home."):
        assert text in page
    assert FACTS not in page


def test_a_dismissal_is_told_to_those_who_reported(site, ada, bob, mo, mod):
    # C-CAS-7
    case_id = make_case(site, ada, mod, reporter=bob, stranger=True)
    rule(site, case_id, "dismiss", mo)
    assert state_of(site, mod, ada) == SHOWN
    assert not ada.emails("decision about")
    assert "leave everything as it is" in outcomes(site, bob.address)[0]
    (fixed,) = outcomes(site, STRANGER)
    assert "leave everything as it is" in fixed
    assert FACTS not in fixed
    assert "Tool" not in fixed


def test_who_reported_twice_is_told_once(site, bob, mo, mod):
    # C-CAS-7
    for _ in range(2):
        report(site, mod, by=bob)
    rule(site, 1, "hide", mo)
    assert len(emails_to(site, bob.address, "We have decided")) == 1


def test_a_statement_is_in_all_languages(site, ada, mo, case_id):
    # C-CAS-6
    rule(site, case_id, "hide", mo)
    message = ada.emails()[-1]
    assert message["Subject"] == "A decision about your mod / Eine Entscheidung über deine Mod"
    english, german = text_of(message).split("\n* * *\n")
    for words in ("The mod is hidden", "our terms: § 4"):
        assert words in english
    for words in ("Die Mod ist ausgeblendet", "unsere Nutzungsbedingungen: § 4"):
        assert words in german


def test_an_unconfirmed_owner_gets_a_fixed_sentence(site, mo):
    # C-CAS-6, C-CAS-7
    eve = register(site, "Eve", confirmed=False)
    rule(site, make_case(site, eve, eve.publish("Tool")), "hide", mo)
    (told,) = map(text_of, eve.emails("decision"))
    assert "/Modhub/decisions" in told
    for words in (FACTS, "Tool", "token="):
        assert words not in told


def refused(site, *arguments, **more):
    with pytest.raises(ApiError) as error:
        rule(site, *arguments, **more)
    return error.value.code


def test_what_is_refused(site, ada, mo, mod, case_id):
    # C-CAS-1, C-CAS-3, C-CAS-4, T-C20
    for kind, wrong in (
        ("hide", {"basis": None}),
        ("hide", {"clause": " "}),
        ("dismiss", {"facts": "  "}),
        ("dismiss", {"facts": "x" * 2001}),
        ("remove", {"part": "nothing"}),
        ("hide", {"until": now() - timedelta(seconds=1)}),
        ("hide", {"until": now() + timedelta(days=3700)}),
        ("delete", {"until": now() + timedelta(days=1)}),
    ):
        assert refused(site, case_id, kind, mo, **wrong) == "invalid_input", wrong
    assert refused(site, case_id, "remove", mo, part="image", part_key="99") == "no_such_part"
    assert refused(site, case_id, "release", mo) == "nothing_to_undo"
    assert refused(site, case_id, "hide", mo, after=7) == "decided_already"
    assert refused(site, case_id, "hide", ada) == "no_moderator"
    assert refused(site, 999, "hide", mo) == "not_found"
    own = make_case(site, mo, mo.publish("Mine"))
    assert refused(site, own, "dismiss", mo) == "own_case"
    of_account = make_case(site, ada)
    assert refused(site, of_account, "hide", mo) == "invalid_input"
    assert state_of(site, mod, ada) == SHOWN
    first = rule(site, case_id, "hide", mo)
    assert refused(site, case_id, "hide", mo) == "decided_already"
    assert refused(site, case_id, "dismiss", mo, first) == "must_undo"
    second = rule(site, case_id, "delete", mo, first)
    assert refused(site, case_id, "release", mo, second) == "deleted"
    ada.call("delete", f"/api/modhub/{(other := ada.publish('Other'))['id']}", status=204)
    gone = make_case(site, ada, other)
    assert refused(site, gone, "hide", mo) == "gone"
    rule(site, gone, "dismiss", mo)


@pytest.mark.postgres
def test_a_mod_stays_hidden_while_any_decision_wants_it(site, ada, mo):
    # C-CAS-5
    first, second = ada.publish("One", description="What it is for"), ada.publish("Two", description="What it is for")
    of_mod, of_account = make_case(site, ada, first), make_case(site, ada)
    hidden = rule(site, of_mod, "hide", mo)
    blocked = rule(site, of_account, "block", mo, hides_mods=True)
    assert [state_of(site, mod, ada).mod for mod in (first, second)] == [404, 404]
    rule(site, of_mod, "release", mo, hidden)
    assert [state_of(site, mod, ada).mod for mod in (first, second)] == [404, 404]
    rule(site, of_account, "unblock", mo, blocked)
    assert [state_of(site, mod, ada) for mod in (first, second)] == [SHOWN, SHOWN]


def test_an_operator_s_hiding_outlasts_a_block(site, ada, mo, mod):
    # C-CAS-5
    hide_mod(site, mod, "Reported as spam.")
    case_id = make_case(site, ada)
    rule(site, case_id, "unblock", mo, rule(site, case_id, "block", mo, hides_mods=True))
    assert state_of(site, mod, ada) == State(404, False, False)
    page = ada.pages.get(f"/Modhub/mine/{mod['id']}").text
    assert "Reported as spam." in page
    assert FACTS not in page
    rule(site, make_case(site, ada, mod), "release", mo)
    assert state_of(site, mod, ada) == SHOWN


@pytest.mark.postgres
def test_a_decision_ends_by_itself(site, ada, bob, mo, mod):
    # C-CAS-5
    case_id = make_case(site, ada, mod, reporter=bob)
    first = rule(site, case_id, "hide", mo, until=now() + timedelta(days=2))
    decisions.end_decisions(site.registry)
    assert state_of(site, mod, ada).mod == 404
    write(site, update(Decision).where(Decision.id == first).values(until=now()))
    decisions.end_decisions(site.registry)
    decisions.end_decisions(site.registry)
    assert state_of(site, mod, ada) == SHOWN
    last = ada.emails()[-1]
    assert "has passed" in text_of(last)
    assert "automatically" in text_of(last)
    kinds = read(site, select(Decision.kind).order_by(Decision.id))
    assert kinds == ["hide", "release"]


def test_an_appeal_keeps_a_decision_from_ending(site, ada, mo, mod, case_id):
    # C-APL-2
    decision = rule(site, case_id, "hide", mo, until=now() + timedelta(days=2))
    appeal(site, decision)
    write(site, update(Decision).values(until=now()))
    decisions.end_decisions(site.registry)
    assert state_of(site, mod, ada).mod == 404
    assert refused(site, case_id, "release", mo, decision) == "appealed"


def test_an_appeal_has_its_time(site, mo, case_id):
    # C-APL-1
    decision = rule(site, case_id, "hide", mo)
    with site.databases.write_session.begin() as session:
        row = session.get_one(Decision, decision)
        assert row.appeal_until == row.decided_at + timedelta(days=183)
        row.appeal_until = now() - timedelta(seconds=1)
    with pytest.raises(ApiError) as late:
        appeal(site, decision)
    assert late.value.code == "too_late"
    write(site, update(Decision).values(appeal_until=now() + timedelta(seconds=60)))
    appeal(site, decision)


@pytest.mark.postgres
def test_what_goes_with_an_account(site, ada, mo, mod):
    # C-CAS-9
    of_mod, of_account = make_case(site, ada, mod), make_case(site, ada)
    decision = rule(site, of_mod, "remove", mo, part="description")
    rule(site, of_account, "remove", mo, part="author_name")
    link = appeal_link(text_of(ada.emails("your mod")[0]))
    appeal(site, decision)
    site.get(link, status=200)
    delete_person(site, ada.id)
    site.get(link, status=404)
    with site.databases.readonly_session() as session:
        assert session.scalars(select(Decision).where(Decision.kept.is_not(None))).all() == []
        assert session.scalars(select(Appeal.text)).one() == ""
        kept = session.get_one(Decision, decision)
        assert (kept.facts, kept.appeal_hash) == (FACTS, None)
    assert case_of(site, of_account).title == ""
