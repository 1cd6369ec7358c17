"""The second factor over REST."""

from concurrent.futures import ThreadPoolExecutor

import pyotp
import pytest
from sqlalchemy import update

from modhub.base.errors import ApiError
from modhub.db import now
from modhub_auth.container import AuthServices
from modhub_auth.models import Authenticator, RecoveryCode
from modhub_auth.signin import totp
from modhub_auth.tokens import SecretBox
from modhub_testing import TEST_SECRET
from tests.people import add_authenticator, write

from .conftest import log_in, sign_up

pytestmark = pytest.mark.slow


class Protected:
    """An account with an authenticator."""

    def __init__(self, app, person):
        self.app = app
        self.person = person
        self.account_id = sign_up(app, person)["accountId"]
        self.secret, self.recovery = add_authenticator(app, self.account_id)
        self.forget_steps()

    def code(self, drift=0):
        return pyotp.TOTP(self.secret).generate_otp(int(totp.now().timestamp()) // 30 + drift)

    def login(self, code=None, **other):
        body = {**self.person, "code": code, **other}
        return self.app.post_json("/api/auth/login", body, expect_errors=True)

    def forget_steps(self):
        write(self.app, update(Authenticator).values(last_step=0))


@pytest.fixture(autouse=True)
def _step():
    """The clock stands still: no step ends between making a code and sending it."""
    time = now()
    with pytest.MonkeyPatch.context() as patch:  # the test's own would ask for an application of its own
        patch.setattr(totp, "now", lambda: time)
        yield


@pytest.fixture
def ada(app, person):
    return Protected(app, person)


def test_a_wrong_password_never_says_it(ada):
    # C-ACC-8, T-C4
    for code in (None, "000000", ada.code()):
        answer = ada.login(code, password="wrong horse battery")
        assert (answer.status_int, answer.json["error"]) == (401, "invalid_credentials")
        assert "twoFactorRequired" not in answer.json
    assert ada.login(ada.code()).status_int == 200


def test_a_code_works_once_in_any_grouping(ada):
    # C-ACC-9, T-C3
    code = ada.code()
    for spelled in (code, f"{code[:3]} {code[3:]}", " ".join(code), f" {code} "):
        ada.forget_steps()
        assert ada.login(spelled).status_int == 200
        assert ada.login(spelled).json["twoFactorRequired"] is True


def test_the_previous_the_current_and_the_next_step_pass(ada):
    # C-ACC-9
    for drift in (-1, 0, 1):
        ada.forget_steps()
        assert ada.login(ada.code(drift)).status_int == 200
    # No step before the last one.
    assert [ada.login(ada.code(drift)).status_int for drift in (-1, 0)] == [401] * 2
    for drift in (-3, 3):
        ada.forget_steps()
        assert ada.login(ada.code(drift)).status_int == 401


def test_wrong_codes_are_refused_and_counted(auth, person):
    # C-ACC-8, C-LIM-3, T-C4
    wrong = ["000000", "12345", "１２３４５６", "é\0", "x" * 5_000]
    ada = Protected(auth(modhub_auth__failures=str(len(wrong))), person)
    # What is missing does not count.
    for code in (None, "", "  ", *wrong):
        answer = ada.login(code)
        assert (answer.status_int, set(answer.json)) == (401, {"error", "message", "twoFactorRequired"}), code
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    assert ada.login(ada.code()).status_int == 429


def test_a_recovery_code_works_once(ada):
    # C-ACC-9
    first, second = ada.recovery[:2]
    assert len(set(ada.recovery)) == 10
    assert ada.login(first).status_int == 200
    assert ada.login(first).status_int == 401
    assert ada.login(second.replace("-", " ").upper()).status_int == 200
    assert ada.app.count_rows(RecoveryCode) == 8


@pytest.mark.postgres
def test_one_statement_succeeds_once(ada):
    own = ada.app.find_service(AuthServices)

    def use(code):
        with own.databases.write_session.begin() as session:
            return totp.use_code(session, own.secret_box, ada.account_id, code)

    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            ada.forget_steps()
            code = ada.recovery[number // 2] if number % 2 else ada.code()
            assert sum(pool.map(use, [code] * 8)) == 1


def test_an_authenticator_added_while_somebody_signs_in_is_asked_for(app, person, monkeypatch):
    account_id = sign_up(app, person)["accountId"]
    passwords = app.find_service(AuthServices).passwords
    verify = passwords.verify
    monkeypatch.setattr(passwords, "verify", lambda *given: add_authenticator(app, account_id) and verify(*given))
    log_in(app, person, 401)


def test_an_account_has_one_authenticator(ada):
    with pytest.raises(ApiError):
        add_authenticator(ada.app, ada.account_id)


def test_the_address_for_authenticators_is_quoted():
    secret = pyotp.random_base32()
    assert totp.provisioning_uri(secret, "ada@example.org", "Deck & Mods").startswith(
        f"otpauth://totp/Deck%20%26%20Mods:ada%40example.org?secret={secret}&issuer=Deck%20%26%20"
    )


def test_a_used_authenticator_needs_an_old_secret_no_more(auth, person):
    # C-TOK-4
    ada = Protected(auth(), person)
    url, new = str(ada.app.registry.settings["sqlalchemy.url"]), "the newest secret of this deployment, long"
    ada.app = auth(url=url, modhub__secret=f"{new}\n{TEST_SECRET}")
    assert ada.login(ada.recovery[0]).status_int == 200
    ada.app = auth(url=url, modhub__secret=new)
    assert ada.login(ada.code()).status_int == 401, "a recovery code does not need the secret"
    ada.app = auth(url=url, modhub__secret=f"{new}\n{TEST_SECRET}")
    assert ada.login(ada.code()).status_int == 200
    ada.app = auth(url=url, modhub__secret=new)
    assert ada.login(ada.code(1)).status_int == 200


def test_a_seal_opens_for_its_owner_and_purpose():
    box = SecretBox([TEST_SECRET], "purpose")
    sealed = box.encrypt("the text", "7")
    assert box.decrypt(sealed, "7") == "the text"
    assert box.decrypt(sealed, "8") is None
    assert SecretBox([TEST_SECRET], "other").decrypt(sealed, "7") is None
    assert box.encrypt("the text", "7") != sealed
