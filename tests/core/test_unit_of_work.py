"""What a session has to do at its commit: for any session, and after savepoints, rollbacks and repeated attempts."""

import json
from contextlib import suppress
from types import SimpleNamespace

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session, sessionmaker
from transaction.interfaces import TransientError

from modhub.audit import act_for_account, record
from modhub.audit.models import AuditEntry
from modhub.base.identity import account_identity
from modhub.catalogue.copies import mark_score_stale, mark_stale
from modhub.db import changes
from modhub.db.changes import ChangeReader, What, mark_changed
from modhub.db.unit_of_work import CommitSteps, PendingWork, WriteSession, take_steps, unit_of_work
from modhub.web.request import act_for_request
from modhub_testing.mods import OWNER, copy_damage, published_mod
from tests.owning import edit_mod


def changed_kinds(site):
    reader = ChangeReader(site.databases.raw_queries, {"one", "two", "three", "four"})
    return [entry.kind for entry in reader.page(0, 100).changes]


def mark(session, kind, number):
    mark_changed(session, kind, What.EDITED)
    mark_stale(session, [number])
    mark_score_stale(session, [-number])
    record(session, kind, "thing", number)


def marked(session):
    pending = unit_of_work(session).pending
    kinds = [kind for kind, _ in pending.changes]
    return kinds, sorted(pending.stale_mods), sorted(pending.stale_scores), [action for action, _ in pending.log_lines]


def test_a_rollback_to_a_savepoint_forgets_what_came_after_it(site):
    # C-AUD-1
    with site.databases.write_session.begin() as session:
        mark(session, "one", 1)
        with suppress(KeyError), session.begin_nested():
            mark(session, "two", 2)
            act_for_account(session, OWNER)
            with session.begin_nested():
                mark(session, "three", 3)
            assert marked(session)[0] == ["one", "two", "three"]
            raise KeyError
        assert marked(session) == (["one"], [1], [-1], ["one"])
        assert unit_of_work(session).pending.account_id is None
        with session.begin_nested():
            mark(session, "four", 4)
            with suppress(KeyError), session.begin_nested():
                mark(session, "one", 5)
                raise KeyError
        assert marked(session) == (["one", "four"], [1, 4], [-4, -1], ["one", "four"])
    assert changed_kinds(site) == ["one", "four"]


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_the_next_transaction_of_a_session_begins_with_nothing(site, end):
    # C-AUD-1
    request = SimpleNamespace(caller=account_identity(8), environ={})
    with site.databases.write_session() as session:
        act_for_request(session, request)
        session.execute(text("SELECT 1"))
        mark(session, "one", 1)
        act_for_account(session, OWNER)
        getattr(session, end)()
        assert unit_of_work(session).pending == PendingWork()
        record(session, "two", "thing", 2)
        session.flush()
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "two")).one()
        # The caller is that of the session; who has signed in is forgotten with the transaction.
        assert (entry.actor_kind, entry.actor_id) == ("account", "8")
        session.commit()
        session.commit()
    assert changed_kinds(site) == (["one"] if end == "commit" else [])


def test_an_attempt_that_is_repeated_raises_the_serial_once(site, monkeypatch, caplog):
    # C-AUD-1
    mod = published_mod(site)
    reader = site.find_service(ChangeReader)
    before = reader.generation()[0]
    attempts = []

    def conflict(session, by=1):
        attempts.append(by)
        if len(attempts) < 3:
            raise TransientError
        return raise_serial(session, by)

    raise_serial = changes.raise_serial
    monkeypatch.setattr(changes, "raise_serial", conflict)
    caplog.set_level("INFO", "modhub.security")
    edit_mod(site, mod, title="Another title")
    assert attempts == [1, 1, 1]
    assert reader.generation()[0] == before + 1
    lines = [line.message for line in caplog.records if line.name == "modhub.security"]
    assert [json.loads(line)["event"] for line in lines] == ["mod edited"]
    assert copy_damage(site) == []


def test_the_steps_are_taken_in_order_and_not_for_savepoints(site):
    taken = []

    def step(name):
        return lambda session: taken.append(name + " in a savepoint" * session.in_nested_transaction())

    factory = sessionmaker(site.databases.write_engine, class_=WriteSession)
    steps = CommitSteps((step("flushed"),), (step("first"), Session.flush, step("second")), (step("third"),))
    take_steps(factory, steps)
    with factory.begin() as session:
        with session.begin_nested():
            session.execute(text("SELECT 1"))
        assert taken == []
        record(session, "x", "thing")
    assert taken == ["first", "flushed", "second", "third"]
