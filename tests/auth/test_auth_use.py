"""The last use of a page session is stored after the request's transaction, without waiting."""

from datetime import timedelta
from time import monotonic

import pytest
from sqlalchemy import select, update

from modhub.db import now
from modhub_auth.models import PageSession
from modhub_auth.signin import session_cookies
from tests.people import read, write

from .conftest import register

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"


def sessions(app):
    return read(app, select(PageSession))


def age(app):
    """The last use of every session was an hour ago."""
    time = now() - timedelta(hours=1)
    write(app, update(PageSession).values(used_at=time))
    return time


@pytest.mark.parametrize("holder", ["write_session", "best_effort_session"])
@pytest.mark.postgres
def test_reading_does_not_wait_for_writers(auth, person, holder, monkeypatch, caplog):
    # T-F4
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "40")
    app = auth()
    register(app, person)
    before = age(app)
    with getattr(app.databases, holder).begin() as session:
        session.execute(select(PageSession).with_for_update())
        began = monotonic()
        app.get(HOME, status=200)
        assert monotonic() - began < 20
    assert sessions(app)[0].used_at == before
    assert [record for record in caplog.records if record.name == session_cookies.__name__] == []
    app.get(HOME, status=200)
    assert sessions(app)[0].used_at > before


def test_an_answer_outlives_what_nobody_foresaw(app, person, monkeypatch, caplog):
    register(app, person)
    age(app)
    monkeypatch.setattr(session_cookies, "touch_page_session", lambda *_: 1 / 0)
    app.get(HOME, status=200)
    assert [record.levelname for record in caplog.records if record.name == session_cookies.__name__] == ["ERROR"]
