"""Two at once: of two moderators one decides; a notice joins a case that is being decided, or opens the next one."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from sqlalchemy import func, select, text

from modhub.base.errors import ApiError
from modhub_moderation.cases.appeals import Verdict, create_appeal, decide_appeal
from modhub_moderation.cases.decisions import Decider, decide
from modhub_moderation.cases.models import AppealOutcome, Case, Decision, DecisionKind, SubjectKind
from modhub_moderation.cases.queue_bulk import BulkItem, decide_item
from modhub_moderation.cases.services import lock_case
from modhub_testing import Site

from .cases_kit import make_case, rule, ruling_of
from .conftest import Person, make_moderator

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """What each returned, or the code of what refused it."""
    barrier = threading.Barrier(len(calls))

    def run(call: Callable[[], Any]) -> Any:
        barrier.wait(60)
        try:
            return call()
        except ApiError as refused:
            return refused.code

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(120) for future in [pool.submit(run, call) for call in calls]]


@pytest.mark.parametrize("kind", [DecisionKind.HIDE, DecisionKind.BLOCK], ids=lambda kind: kind.value)
def test_of_two_moderators_one_decides(site: Site, ada: Person, mo: Person, kind: DecisionKind) -> None:
    # C-CAS-4
    other = make_moderator(site, "Otto")
    case_id = make_case(site, ada, ada.publish("Tool"))
    outcomes = at_once(*(partial(rule, site, case_id, ruling_of(kind), moderator) for moderator in (mo, other) * 2))
    assert sorted(map(str, outcomes))[1:] == ["decided_already"] * 3
    with site.databases.readonly_session() as session:
        assert session.scalar(select(func.count(Decision.id)).where(Decision.case_id == case_id)) == 1


def test_an_appeal_is_decided_once(site: Site, ada: Person, mo: Person) -> None:
    # C-APL-2
    others = [make_moderator(site, name) for name in ("Otto", "Olga")]
    case_id = make_case(site, ada, ada.publish("Tool"))
    decision = rule(site, case_id, ruling_of(DecisionKind.HIDE), mo)

    def appeal() -> int:
        with site.databases.write_session.begin() as session:
            return create_appeal(session, decision, "It is a test.").id

    appeals = at_once(appeal, appeal)
    assert "appealed_already" in appeals
    (appeal_id,) = [number for number in appeals if isinstance(number, int)]

    def decide(moderator: Person, outcome: AppealOutcome) -> str:
        with site.databases.write_session.begin() as session:
            verdict = Verdict(outcome, "We looked at it.")
            decide_appeal(session, site.registry, appeal_id, verdict, moderator.id)
            return outcome.value

    outcomes = at_once(*(partial(decide, *both) for both in zip(others, AppealOutcome, strict=True)))
    assert min(outcomes) == "decided_already"
    with site.databases.readonly_session() as session:
        decisions = session.scalar(select(func.count(Decision.id)).where(Decision.case_id == case_id))
        assert decisions == (2 if "reversed" in outcomes else 1)


def test_one_case_is_open(site: Site, ada: Person, bob: Person) -> None:
    # C-CAS-2
    mod = ada.publish("Tool")
    cases = at_once(*(lambda: make_case(site, ada, mod) for _ in range(4)))
    assert len(set(cases)) == 1
    with site.databases.readonly_session() as session:
        assert session.scalar(select(func.count(Case.id))) == 1


def test_decisions_about_many_wait_for_the_case_first(site: Site, ada: Person, mo: Person) -> None:
    # C-QUE-5: in the order of all others, so that no two wait for each other.
    mod = ada.publish("Tool")
    case_id = make_case(site, ada, mod, stranger=True)

    def decide_many() -> None:
        with site.databases.write_session.begin() as session:
            item = BulkItem(SubjectKind.MOD, mod["id"], 0, 0)
            decide_item(session, site.registry, item, ruling_of(DecisionKind.HIDE), mo.id)

    with ThreadPoolExecutor(1) as pool:
        with site.databases.write_session.begin() as session:
            lock_case(session, case_id)
            waiting = pool.submit(decide_many)
            if site.databases.write_engine.dialect.name == "postgresql":
                _wait_for_a_waiting_transaction(site)
            decider = Decider(mo.id)
            decide(session, site.registry, case_id, ruling_of(DecisionKind.HIDE), decider, after=None)
        waiting.result(60)


def _wait_for_a_waiting_transaction(site: Site) -> None:
    waits = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with site.databases.readonly_session() as reading:
            if reading.scalar(waits):
                return
        time.sleep(0.02)
    raise AssertionError("nothing waits")
