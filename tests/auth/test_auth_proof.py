"""Fresh proof before changes to how an account is accessed, for every action."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyotp
import pytest
from sqlalchemy import insert, select, update

from modhub.db import now
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, Authenticator, Link, Login, OutgoingEmail, PageSession, RecoveryCode
from modhub_auth.pages import fresh_proof
from modhub_auth.resources import AccountPermission
from tests.people import PASSWORD, add_authenticator, read, register, write

from .conftest import reset_password, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
OFFERS_A_MOD = ""
"""``/Modhub/mine/{id}/offer``, whose view has no name: test_auth_offers.py."""
FREE = {"name", "letter", "sign-out", "revoke-key", "device", "offer", OFFERS_A_MOD}
"""What changes nothing about who may enter: the name shown, an email, the end of sessions, a code that is typed, the
answer to an offer, and its withdrawal."""
ALLOWS_A_PROGRAM = "device"
"""Asks too, in its second form: test_auth_device.py."""
KINDS = ("password", "password and authenticator", "platform", "platform and authenticator")
ACTIONS = (
    "password",
    "authenticator",
    "recovery-codes",
    "unlink",
    "delete",
    "platform/steam/link",
    "publisher-key",
    "email",
)
TOLD = {
    "password": "password changed",
    "authenticator": "factor removed",
    "recovery-codes": "codes renewed",
    "unlink": "login unlinked",
    "publisher-key": "key created",
    "email": "change asked",
}
"""The kinds of the emails that tell the owner of it."""


@dataclass
class Owner:
    """Somebody who is signed in on pages to an account of one kind, with a second login that can be unlinked."""

    app: Any
    kind: str
    codes: list[str]

    def state(self):
        """All rows that decide who may enter the account, and the emails."""
        with self.app.databases.readonly_session() as session:
            models = (Account, Login, Authenticator, RecoveryCode, Link, OutgoingEmail)
            return [str(row) for model in models for row in session.execute(select(model.__table__)).all()]

    def fields(self, action):
        """The fields that the action needs besides the proof."""
        fields = {"csrf_token": token_of(self.app)}
        if action == "password":
            fields |= {"password": "another password"}
            fields |= {} if "password" in self.kind else {"email": "new@example.org"}
        if action == "unlink":
            fields |= {"loginId": "9"}
        if action == "authenticator" and "authenticator" not in self.kind:
            proposals, held = self.app.find_service(AuthServices).proposals, self.app.cookies["modhub"].strip('"')
            fields |= {"code": pyotp.TOTP(proposals.secret(held, proposals.period())).now()}
        if action == "publisher-key":
            fields |= {"label": "CI"}
        if action == "email":
            fields |= {"email": "new@example.org"}
        return fields

    def post(self, action, **more):
        return self.app.post(f"{HOME}/{action}", {**self.fields(action), **more}, expect_errors=True)

    def prove(self, ago):
        """Record that a platform confirmed the visitor so long ago; None: never."""
        write(self.app, update(PageSession).values(proved_at=None if ago is None else now() - ago))


@pytest.fixture(params=KINDS)
def owner(auth, request):
    kind, app = str(request.param), auth(modhub_auth__steam="true", modhub_auth__failures="99")
    ada = register(app, "Ada")
    pages = ada.pages  # Signed in now: later it would take more than the password.
    steam = {"kind": "Platform", "platform": "steam"}
    write(app, insert(Login).values(**steam, id=9, account_id=ada.id, subject="7", verified=False, created_at=now()))
    if "platform" in kind:
        write(app, update(Login).where(Login.id == 1).values(**steam, subject="8", password_hash=None))
    codes = add_authenticator(app, ada.id)[1] if "authenticator" in kind else []
    return Owner(pages, kind, codes)


def applies(owner, action):
    if action == "email":
        return "password" in owner.kind
    return action != "recovery-codes" or "authenticator" in owner.kind


def wrong_proofs(owner):
    """Fields of the proof, how long ago the platform was asked, the status."""
    if "password" in owner.kind:
        # The platform's word is no way around a password.
        just_now = timedelta()
        return [({}, None, 403), ({"currentPassword": "wrong horse battery"}, None, 403), ({}, just_now, 403)]
    if "authenticator" in owner.kind:
        return [({"code": ""}, None, 401), ({"code": "000000"}, timedelta(minutes=11), 401)]
    return [({}, None, 403), ({}, timedelta(minutes=10, seconds=1), 403), ({}, timedelta(seconds=-60), 403)]


def right_proof(owner):
    if "password" in owner.kind:
        return {"currentPassword": PASSWORD}
    if "authenticator" in owner.kind:
        return {"code": owner.codes[0]}
    owner.prove(timedelta(minutes=9))
    return {}


def test_without_fresh_proof_nothing_changes(owner):
    # C-MAIL-9, T-C17
    before = owner.state()
    for action in ACTIONS:
        if not applies(owner, action):
            continue
        for proof, ago, status in wrong_proofs(owner):
            owner.prove(ago)
            answer = owner.post(action, **proof)
            assert answer.status_int == status, (action, proof, ago)
            assert answer.html.select_one("#errors li").text.strip()
            assert "another password" not in answer.text
            if "email" in owner.fields(action):
                assert answer.html.select_one("#email")["value"] == "new@example.org"
            field = answer.html.select_one("#currentPassword, #code[aria-invalid]")
            assert (field is None) == (owner.kind == "platform")
            assert field is None or field["aria-invalid"] == "true"
        assert owner.state() == before, action


@pytest.mark.parametrize("owner", ["password and authenticator", "platform"], indirect=True)
@pytest.mark.parametrize("action", ACTIONS)
def test_with_fresh_proof_it_is_done(owner, action):
    # C-MAIL-9
    if not applies(owner, action):
        return
    proof, before = right_proof(owner), owner.state()
    answer = owner.post(action, **proof)
    assert answer.status_int in {200, 303}, answer
    if action == "platform/steam/link":
        assert "openid.return_to" in answer.html.select_one(".ways a")["href"]
    else:
        assert owner.state() != before
    if "password" in owner.kind and action in TOLD:
        kinds = read(owner.app, select(OutgoingEmail.kind))
        assert TOLD[action] in kinds


def test_the_form_asks_for_what_the_account_has(owner):
    for action in ACTIONS:
        if action == "email" and not applies(owner, action):
            continue  # An account without an address has no form; test_auth_address_change.py.
        address = f"{HOME}/{action}" + ("?loginId=9" if action == "unlink" else "")
        page = owner.app.get(address, status=200)
        names = [field["name"] for field in page.html.select("main form .field input")]
        if owner.kind != "platform":
            assert names[0] == ("currentPassword" if "password" in owner.kind else "code")
            continue
        assert names == []
        assert "prove=1&next=" in page.html.select_one("main .ways a.button")["href"]
        owner.prove(timedelta())
        assert owner.app.get(address).html.select_one("main form button") is not None
        owner.prove(None)


@pytest.mark.parametrize("owner", ["password and authenticator"], indirect=True)
@pytest.mark.parametrize("action", ACTIONS)
def test_what_a_reset_overtakes_is_not_done(owner, action, monkeypatch):
    """The visitor has been recognised and has proved themselves; then the account is reset, and they are signed out."""
    proof, judge, seen = right_proof(owner), fresh_proof._check_proof, []

    def reset_meanwhile(*arguments):
        judged = judge(*arguments)
        with owner.app.databases.write_session.begin() as session:
            secret = link_tokens.create_link(session, link_tokens.RESET_LINK, 1, login_id=1)
            reset_password(owner.app, session, secret)
        seen.append(owner.state())
        return judged

    monkeypatch.setattr(fresh_proof, "_check_proof", reset_meanwhile)
    assert owner.post(action, **proof).status_int == 401
    assert [owner.state()] == seen


def test_every_action_of_an_account_says_whether_it_asks(app):
    # C-MAIL-9, T-C17
    """A view that changes an account and is in neither list has been forgotten."""
    asking, free = set(), set()
    for introspected in app.config.introspector.get_category("views"):
        view = introspected["introspectable"]
        related = [
            permission.discriminator
            for permission in introspected["related"]
            if permission.category_name == "permissions"
        ]
        if AccountPermission.CHANGE in related and "POST" in view["request_methods"]:
            (free if view.get("fresh_proof") is None else asking).add(view["name"])
    assert asking == {action.rpartition("/")[2] for action in ACTIONS} | {ALLOWS_A_PROGRAM, OFFERS_A_MOD}
    assert free == FREE
