"""The change of `modhub.secret` as docs/operations.md describes it: no process ever refuses the other's work."""

from datetime import timedelta

import pyotp
import pytest

from modhub.db import now
from modhub_testing import TEST_SECRET
from modhub_testing.pages import new_visitor

from .conftest import Mail, log_in, me, refresh, sign_up

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
NEW = "the newest secret of this deployment, long"
OLD_FIRST, NEW_FIRST = f"{TEST_SECRET}\n{NEW}", f"{NEW}\n{TEST_SECRET}"


@pytest.mark.parametrize(
    ("here", "there"),
    [(TEST_SECRET, OLD_FIRST), (OLD_FIRST, TEST_SECRET), (OLD_FIRST, NEW_FIRST), (NEW_FIRST, OLD_FIRST)],
)
def test_at_each_step_the_processes_understand_each_other(auth, person, here, there):
    # C-TOK-4
    one = auth(modhub__secret=here)
    other = auth(url=str(one.registry.settings["sqlalchemy.url"]), modhub__secret=there)
    session = sign_up(one, person)
    me(other, session)
    refresh(other, session)
    visitor = new_visitor(one)

    def send(page, status, **fields):
        """A form of a page that ``one`` made, answered by ``other``."""
        for name, value in fields.items():
            page.forms[0][name] = value
        visitor.app = other.app
        answer = page.forms[0].submit(status=status)
        visitor.app = one.app
        return answer

    send(visitor.get(f"{HOME}/login"), 303, **person)
    # What one has sealed the other sends.
    send(visitor.get(Mail(other).link()), 200)
    proposed = visitor.get(f"{HOME}/authenticator")
    codes = pyotp.TOTP(proposed.html.select_one("#authenticator-secret").text)
    send(proposed, 200, currentPassword=person["password"], code=codes.at(now()))
    log_in(one, person, code=codes.at(now() + timedelta(seconds=30)))
    # Who warned of a common password is not who accepts it.
    visitor.reset()
    form = visitor.get(f"{HOME}/register").forms[0]
    form["email"], form["password"] = "common@example.org", "password1234"
    send(form.submit(status=400), 303, password="password1234")
