"""``/Modhub/account/history``."""

import pytest
from sqlalchemy import insert

from modhub.audit.models import AuditEntry
from modhub.db import now
from tests.people import write

from .conftest import log_in, register

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
PAGE = f"{HOME}/history"
ADDRESS = "203.0.113.7"
MADE = ["Signed in", "Account created"]


def actions(app):
    return [" ".join(item.text.split()) for item in app.get(PAGE, status=200).html.select("#history li")]


def titles(app):
    return [item.text for item in app.get(PAGE, status=200).html.select("#history strong")]


def test_deeds_newest_first_with_way_time_and_address(app, person):
    # C-ACC-26
    app.get(PAGE, status=303)
    app.extra_environ["REMOTE_ADDR"] = ADDRESS
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
    assert app.get(HOME).html.find("a", href=PAGE) is not None
    # It is for its owner alone.
    app.reset()
    register(app, {**person, "email": "grace@example.org"})
    assert titles(app) == MADE
    assert actions(app)[0].startswith("Signed in on this site")


def test_what_operators_and_mods_concern_is_not_in_it(app, person):
    # C-ACC-26
    app.extra_environ["REMOTE_ADDR"] = ADDRESS
    register(app, person)
    own = {"at": now(), "actor_kind": "account", "actor_id": "1", "details": "", "request_id": "", "address": "x"}
    for action, kind, target in (
        ("mod created", "mod", "1"),
        ("account blocked", "account", "1"),
        ("signed in", "account", "999"),
        ("signed in", "mod", "1"),
    ):
        write(app, insert(AuditEntry).values(action=action, target_kind=kind, target_id=target, **own))
    assert titles(app) == MADE
