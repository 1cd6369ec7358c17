"""``/Modhub/account/history``."""

import pytest
from sqlalchemy import select

from modhub.audit.models import AuditEntry

from . import conftest
from .conftest import log_in, send

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
OTHER = {"email": "grace@example.org", "password": "staple battery horse"}
PAGE = f"{HOME}/history"
ADDRESS = "203.0.113.7"
MADE = ["Signed in", "Account created"]


def register(app, person):
    app.extra_environ["REMOTE_ADDR"] = ADDRESS
    conftest.register(app, person)


def actions(app):
    return [" ".join(item.text.split()) for item in app.get(PAGE, status=200).html.select("#history li")]


def titles(app):
    return [item.text for item in app.get(PAGE, status=200).html.select("#history strong")]


def test_deeds_newest_first_with_way_time_and_address(app, person):
    # C-ACC-26
    register(app, person)
    log_in(app, person)
    change = next(form for form in app.get(HOME).forms.values() if form.action.endswith("/name"))
    change["displayName"] = " Ada\u202e Lovelace "
    change.submit(status=303)
    assert 'value="Ada Lovelace"' in app.get(HOME).text
    assert titles(app) == ["Name changed", "Signed in", *MADE]
    assert actions(app)[1].startswith("Signed in by a program")
    page = app.get(PAGE)
    assert [code.text for code in page.html.select("#history code")] == [ADDRESS] * 4
    assert len(page.html.select("#history time[datetime]")) == 4
    assert page.headers["Cache-Control"] == "no-store"
    assert app.get(HOME).html.find("a", href=PAGE) is not None


def test_it_is_for_its_owner_alone(app, person):
    # C-ACC-26
    visitor = app.get(PAGE, status="*")
    assert (visitor.status_int, "/login" in visitor.headers["Location"]) == (303, True)
    register(app, person)
    app.reset()
    register(app, OTHER)
    assert titles(app) == MADE
    app.reset()
    send(app.get(f"{HOME}/login"), 303, **person)
    assert titles(app) == ["Signed in", *MADE]
    assert actions(app)[0].startswith("Signed in on this site")


def test_what_operators_and_mods_concern_is_not_in_it(app, person):
    # C-ACC-26
    register(app, person)
    with app.databases.write_session.begin() as session:
        created = session.scalars(select(AuditEntry).where(AuditEntry.action == "registered")).one()
        for action, kind, target in (
            ("mod created", "mod", created.target_id),
            ("account blocked", "account", created.target_id),
            ("signed in", "account", "999"),
            ("signed in", "mod", created.target_id),
        ):
            values = {"at": created.at, "actor_kind": "account", "actor_id": created.target_id, "details": ""}
            entry = AuditEntry(action=action, target_kind=kind, target_id=target, request_id="", address="x", **values)
            session.add(entry)
    assert titles(app) == MADE
