"""The last use of a page session is stored after the request's transaction, without waiting."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, update

from modhub.db import now
from modhub_auth.models import PageSession
from modhub_auth.signin import session_cookies

from .conftest import send

pytestmark = pytest.mark.slow

Person = dict[str, str]
HOME = "/Modhub/account"


def sessions(app: Any) -> list[PageSession]:
    with app.databases.readonly_session() as session:
        return list(session.scalars(select(PageSession)).all())


def age(app: Any) -> datetime:
    """The last use of every session was an hour ago."""
    time = now() - timedelta(hours=1)
    with app.databases.write_session.begin() as session:
        session.execute(update(PageSession).values(used_at=time))
    return time


@contextmanager
def noted(app: Any) -> Iterator[list[int]]:
    """For each last use stored in the ``with`` block: how many connections were writing something else."""
    seen: list[int] = []

    def heard(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("UPDATE auth_page_session SET used_at"):
            seen.append(app.databases.write_engine.pool.checkedout())

    event.listen(Engine, "before_cursor_execute", heard)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", heard)


def test_a_request_does_not_wait_for_itself(app: Any, person: Person, mail: Any) -> None:
    send(app.get(f"{HOME}/register"), 303, **person)
    page = app.get(f"{HOME}/forgot")
    before = age(app)
    with noted(app) as others:
        send(page, 200, email=person["email"])
    assert others == [0]
    assert sessions(app)[0].used_at > before
    page = app.get(mail.link())
    age(app)
    with noted(app) as others:
        send(page, 200, password="another password")
    assert others == [0]
    assert sessions(app) == []


@pytest.mark.parametrize("holder", ["write_session", "best_effort_session"])
@pytest.mark.postgres
def test_reading_does_not_wait_for_writers(
    auth: Any, person: Person, holder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # T-F4
    monkeypatch.setenv("MODHUB_LOCK_SECONDS", "40")
    app = auth()
    send(app.get(f"{HOME}/register"), 303, **person)
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
