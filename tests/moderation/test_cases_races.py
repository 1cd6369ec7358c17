"""Two at once: of two moderators one decides; a notice joins a case that is being decided, or opens the next one."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from sqlalchemy import text

from modhub.base.errors import ApiError
from modhub.plugins.moderation import IModeration
from modhub_auth.models import Account
from modhub_auth.services import delete_account, lock_account
from modhub_moderation.cases.decisions import decide, lock_subject
from modhub_moderation.cases.models import AppealOutcome, Decision
from tests.people import delete_person, read
from tests.races import at_once, until

from .cases_kit import answer_appeal, appeal, case_of, make_case, rule, ruling_of
from .conftest import make_moderator

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def outcome(call):
    """What it returned, or the code of what refused it."""
    try:
        return call()
    except ApiError as refused:
        return refused.code


def outcomes_of(*calls):
    """The outcomes of calls at one moment."""
    return at_once([partial(outcome, call) for call in calls])


def test_of_two_moderators_one_decides(site, mo, case_id):
    # C-CAS-4
    other = make_moderator(site, "Otto")
    outcomes = outcomes_of(*(partial(rule, site, case_id, "hide", moderator) for moderator in (mo, other) * 2))
    assert sorted(map(str, outcomes))[1:] == ["decided_already"] * 3
    assert site.count_rows(Decision) == 1


def test_an_appeal_is_decided_once(site, mo, case_id):
    # C-APL-2
    others = [make_moderator(site, name) for name in ("Otto", "Olga")]
    decision = rule(site, case_id, "hide", mo)

    appeal_id, refused = sorted(outcomes_of(*[partial(appeal, site, decision)] * 2), key=str)
    assert refused == "appealed_already"

    def decide(moderator, outcome):
        answer_appeal(site, appeal_id, outcome, moderator)
        return outcome.value

    outcomes = outcomes_of(*(partial(decide, *both) for both in zip(others, AppealOutcome, strict=True)))
    assert min(outcomes) == "decided_already"
    assert site.count_rows(Decision) == (2 if "reversed" in outcomes else 1)


def take_turns(site, locks, second, then):
    """Begin a transaction by ``locks``, wait until ``second`` waits for it, end it by ``then``; what ``second`` did."""
    with ThreadPoolExecutor(1) as pool:
        with site.databases.write_session.begin() as session:
            locks(session)
            waiting = pool.submit(outcome, second)
            _wait_for_a_waiting_transaction(site)
            then(session)
        return waiting.result(60)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_the_second_decision_about_an_owner_waits(site, ada, mo):
    # C-CAS-4: with shared locks both would begin, and neither could end.
    cases = [make_case(site, ada, ada.publish(f"Tool {number}")) for number in range(2)]
    other = make_moderator(site, "Otto")
    outcome = take_turns(
        site,
        lambda session: lock_subject(session, site.registry, cases[0]),
        partial(rule, site, cases[1], "block", other, hides_mods=True),
        lambda session: decide(session, site.registry, cases[0], ruling_of("hide"), mo.id, after=None),
    )
    assert isinstance(outcome, int)


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_decision_waits_for_the_deletion_of_its_account(site, ada, mo, case_id):
    # C-CAS-9: a deletion has the account before it empties the cases.
    outcome = take_turns(
        site,
        lambda session: lock_account(session, ada.id),
        partial(rule, site, case_id, "hide", mo),
        lambda session: delete_account(session, site.registry, session.get_one(Account, ada.id)),
    )
    assert (outcome, case_of(site, case_id).title) == ("gone", "")


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_case_without_an_account_is_decided_once(site, ada, mo, case_id):
    # C-CAS-4: without an account to lock first, the case itself is what they wait for.
    other = make_moderator(site, "Otto")
    delete_person(site, ada.id)
    outcome = take_turns(
        site,
        lambda session: lock_subject(session, site.registry, case_id),
        partial(rule, site, case_id, "dismiss", other),
        lambda session: decide(session, site.registry, case_id, ruling_of("dismiss"), mo.id, after=None),
    )
    assert outcome == "decided_already"


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_nothing_of_a_deleted_account_is_stored_by_its_appeal(site, ada, mo):
    # C-CAS-9
    decision = rule(site, make_case(site, ada), "block", mo)
    outcome = take_turns(
        site,
        lambda session: delete_account(session, site.registry, lock_account(session, ada.id)),
        partial(appeal, site, decision),
        lambda _: None,
    )
    assert outcome == "not_found"


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_mods_are_locked_in_the_order_of_their_ids(site, ada, mo):
    # C-CAS-4: also where the case is about a later one, so that commands about the same mods wait, and end.
    mods = [ada.publish(f"Tool {number}")["id"] for number in range(2)]
    case_id = make_case(site, ada, {"id": mods[1], "title": "Tool 1"})
    moderation = site.find_service(IModeration)
    for kind, after in (("block", None), ("unblock", 1)):
        outcome = take_turns(
            site,
            lambda session: moderation.lock(session, mods[:1]),
            partial(rule, site, case_id, kind, mo, after, hides_mods=kind == "block"),
            lambda session: moderation.lock(session, mods[1:]),
        )
        assert isinstance(outcome, int)


def _wait_for_a_waiting_transaction(site):
    waits = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    until(lambda: read(site, waits) != [0])
