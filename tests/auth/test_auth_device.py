"""Sign-in by another device: a program shows a code, and somebody who is signed in types it."""

import logging
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from threading import Event
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import insert, select, update

from modhub.audit.models import AuditEntry
from modhub.base.errors import ApiError
from modhub.db import now
from modhub_auth.blocking import block_accounts
from modhub_auth.models import Attempt, ClientSession, DeviceCode, Login, PageSession
from modhub_auth.services import lock_account
from modhub_auth.signin import device_codes
from modhub_testing.databases import TEST_SECRET
from modhub_testing.pages import messages_on, new_visitor
from tests.people import add_authenticator, block, read, text_of, write
from tests.races import at_once

from .conftest import come_back, confirm, me, register, seen, token_of

pytestmark = pytest.mark.slow

HOME = "/Modhub/account"
DEVICE = f"{HOME}/device"
STEAM = f"{HOME}/platform/steam"
PASSWORD = "correct horse battery"
LABEL = "Overlay of Ada"
CONTENDERS = 8
race = pytest.mark.usefixtures("patience")


def post(app, path, body, **environ):
    answer = app.post_json(f"/api/auth/{path}", body, extra_environ=environ, expect_errors=True)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    return answer


def begin(app, **body):
    answer = post(app, "device", {"client": LABEL, **body}, REMOTE_ADDR="192.0.2.7")
    assert answer.status_int == 200, answer
    return answer.json


def poll(app, codes):
    return post(app, "device/token", {"deviceCode": codes["deviceCode"]})


def refusal(answer):
    return answer.status_int, answer.json["error"]


def polled(app, codes):
    """A poll after the interval: the status and error, or the session."""
    set_codes(app, polled_at=None)
    answer = poll(app, codes)
    return answer.json if answer.status_int == 200 else refusal(answer)


def set_codes(app, **values):
    write(app, update(DeviceCode).values(values))


def rows(app):
    return read(app, select(DeviceCode).order_by(DeviceCode.id))


def sign_in(app, address="ada@example.org"):
    """A visitor who has signed up on pages, with a confirmed address."""
    visitor = new_visitor(app)
    register(visitor, {"email": address, "password": PASSWORD})
    confirm(app)
    return visitor


def form_of(page):
    return next(form for form in page.forms.values() if "userCode" in form.fields)


def type_code(visitor, code, status=200, **environ):
    form = form_of(visitor.get(DEVICE))
    form["userCode"] = code
    return form.submit(status=status, extra_environ=environ)


def allow(visitor, user_code, status=200, **fields):
    form = form_of(type_code(visitor, user_code))
    for name, value in (fields or {"currentPassword": PASSWORD}).items():
        form[name] = value
    return form.submit("allow", status=status)


@pytest.fixture
def ada(app):
    return sign_in(app)


def arrive(site, provider, way):
    """Leave for the platform, sign in there, and come back."""
    return come_back(site, provider.assertion(site.get(way, status=303).headers["Location"]))


def test_who_proves_by_a_platform_does_so_before_the_code(steam, provider):
    # C-ACC-30, C-MAIL-9
    arrive(steam, provider, STEAM)
    codes = begin(steam)
    page = type_code(steam, codes["userCode"])
    write(steam, update(PageSession).values(proved_at=now() - timedelta(minutes=11)))
    refused = form_of(page).submit("allow", status=403)
    assert "prove=1" in refused.html.select_one(".actions a")["href"]
    assert polled(steam, codes) == (400, "authorization_pending")
    first = steam.get(DEVICE)
    assert first.html.select("main form input[name=userCode]") == []
    way = first.html.select_one(".ways a.button")["href"]
    assert parse_qs(urlsplit(way).query)["next"] == [DEVICE]
    assert arrive(steam, provider, way).headers["Location"] == DEVICE
    page = type_code(steam, codes["userCode"])
    assert messages_on(form_of(page).submit("allow")) == ["device_allowed"]
    assert me(steam, polled(steam, codes))["kind"] == "Platform"


def test_an_account_with_a_second_factor_signs_in(app, ada, mail):
    # C-ACC-29, C-ACC-30, C-ACC-31
    add_authenticator(app)
    codes = begin(app)
    allow(ada, codes["userCode"], 403, currentPassword="wrong horse battery")
    assert polled(app, codes) == (400, "authorization_pending")
    secret_before = ada.cookies["modhub"]
    allow(ada, codes["userCode"])
    assert ada.cookies["modhub"] != secret_before
    session = polled(app, codes)
    [client], [*_, entry] = read(app, select(ClientSession)), read(app, select(AuditEntry).order_by(AuditEntry.id))
    assert (client.label, client.login_id) == (LABEL, 1)
    assert (entry.action, entry.actor_id, entry.details) == ("signed in", "1", '{"login": 1, "via": "program"}')
    email = mail.read()[-1]
    assert email["Subject"] == "A program was allowed to sign in"
    assert f"Browser or program: {LABEL}" in text_of(email)
    # It is listed and revoked like others.
    next(form for form in ada.get(HOME).forms.values() if "clientId" in form.fields).submit(status=303)
    assert post(app, "refresh", {"refreshToken": session["refreshToken"]}).status_int == 401


def test_refusals_in_their_order(app, ada):
    # C-ACC-28
    codes = begin(app)
    poll(app, codes)
    # The interval is judged before the state, and what is dead before the interval.
    assert messages_on(form_of(type_code(ada, codes["userCode"])).submit("deny")) == ["device_denied"]
    assert refusal(poll(app, codes)) == (429, "slow_down")
    assert polled(app, codes) == polled(app, codes) == (400, "access_denied")
    set_codes(app, expires_at=now())
    assert refusal(poll(app, codes)) == (400, "expired_token")


def test_an_early_poll_does_not_count(app):
    # C-ACC-28
    codes = begin(app)
    poll(app, codes)
    set_codes(app, polled_at=now() - timedelta(seconds=3.5))
    early = poll(app, codes)
    assert (refusal(early), early.json["retryAfterSeconds"]) == ((429, "slow_down"), 1)
    assert now() - rows(app)[0].polled_at >= timedelta(seconds=3.5)
    # Neither after the interval, nor by a clock that was set back.
    for last in (now() - timedelta(seconds=4), now() + timedelta(hours=1)):
        set_codes(app, polled_at=last)
        assert refusal(poll(app, codes)) == (400, "authorization_pending")


def test_dead_codes_are_one_answer(app, ada):
    # C-ACC-28
    old = begin(app)
    set_codes(app, expires_at=now())
    used, killed = begin(app), begin(app)
    allow(ada, killed["userCode"])
    sign_out_everywhere(app, ada)
    allow(ada, used["userCode"])
    polled(app, used)
    first, *others = (poll(app, codes) for codes in (used, killed, old, {"deviceCode": "unknown"}))
    assert [seen(answer) for answer in others] == [seen(first)] * 3
    assert refusal(first) == (400, "expired_token")


def test_a_code_is_typed_in_any_spelling(app, ada):
    # C-ACC-30
    code = begin(app)["userCode"]
    for spelling in (code, code.lower(), f"  {code.replace('-', ' ')} ", "-".join(code.replace("-", ""))):
        assert type_code(ada, spelling).status_int == 200
    assert form_of(ada.get(f"{DEVICE}?userCode={code}"))["userCode"].value == ""
    for wrong in ("", code[:-1], f"{code}B", "\0", "ß" * 8):
        assert messages_on(type_code(ada, wrong, 400)) == ["unknown_code"]


def test_a_code_is_decided_once(app, ada):
    # C-ACC-30, T-C21
    eve = sign_in(app, "eve@example.org")
    codes = begin(app)
    pages = [type_code(visitor, codes["userCode"]) for visitor in (ada, eve, eve)]
    allow(ada, codes["userCode"])
    late, denying = form_of(pages[1]), form_of(pages[2])
    late["currentPassword"] = PASSWORD
    assert "code is wrong or has expired" in late.submit("allow", status=400).text
    assert messages_on(denying.submit("deny", status=400)) == ["unknown_code"]
    type_code(eve, codes["userCode"], 400)
    assert polled(app, codes)["accountId"] == 1
    type_code(ada, codes["userCode"], 400)


def test_the_page_and_the_email_show_what_a_program_says_of_itself_as_text(app, ada, mail):
    page = type_code(ada, begin(app, client="<b>100 %(label)s</b>")["userCode"])
    main = page.html.select_one("main").text
    assert "<b>100 %(label)s</b>" in main
    assert "192.0.2.7" in main
    nameless = type_code(ada, begin(app, client="  ")["userCode"])
    assert "A program without a name" in nameless.text
    allow(ada, begin(app, client="https://evil.example.org/now")["userCode"])
    assert "Browser or program: https evil example org now" in text_of(mail.read()[-1])


def test_an_unconfirmed_address_waits(auth):
    # C-ACC-29
    app = auth(modhub_auth__require_verified="true")
    ada, codes = sign_in(app), begin(app)
    write(app, update(Login).values(verified=False))
    allow(ada, codes["userCode"])
    assert polled(app, codes) == polled(app, codes) == (403, "email_not_confirmed")
    assert refusal(poll(app, codes)) == (429, "slow_down")
    confirm(app)
    assert "accessToken" in polled(app, codes)


def send(page, **fields):
    form = next(form for form in page.forms.values() if "currentPassword" in form.fields)
    for name, value in fields.items():
        form[name] = value
    return form.submit(status=303)


def change_password(_app, visitor):
    send(visitor.get(f"{HOME}/password"), currentPassword=PASSWORD, password="another password")


def delete_account(_app, visitor):
    send(visitor.get(f"{HOME}/delete"), currentPassword=PASSWORD)


def block_it(app, _visitor):
    block(app, 1)


def sign_out_everywhere(_app, visitor):
    visitor.post(f"{HOME}/sign-out", {"csrf_token": token_of(visitor)}, status=303)


def unlink(app, visitor):
    write(app, update(PageSession).where(PageSession.login_id == 9).values(login_id=1))
    send(visitor.get(f"{HOME}/unlink?loginId=9"), currentPassword=PASSWORD)


@pytest.mark.parametrize("act", [change_password, delete_account, block_it, sign_out_everywhere, unlink])
def test_what_ends_sessions_ends_what_was_allowed(app, ada, act):
    # C-ACC-31, T-C21
    extra = {"id": 9, "account_id": 1, "kind": "Platform", "platform": "steam", "subject": "7", "verified": True}
    write(app, insert(Login).values(**extra, created_at=now()))
    if act is unlink:
        write(app, update(PageSession).values(login_id=9))
    eve = sign_in(app, "eve@example.org")
    allowed, others, pending = begin(app), begin(app), begin(app)
    allow(ada, allowed["userCode"])
    allow(eve, others["userCode"])
    act(app, ada)
    assert len(rows(app)) == 2
    assert polled(app, allowed) == (400, "expired_token")
    assert polled(app, others)["accountId"] == 2
    assert polled(app, pending) == (400, "authorization_pending")


def test_beginning_is_limited_by_a_counter_of_its_own(auth, person):
    # C-LIM-10
    app = auth(modhub_auth__register_limit="2")
    assert [post(app, "device", body).status_int for body in ({}, {"client": 7}, {})] == [200, 400, 429]
    assert post(app, "register", person).status_int == 201
    assert post(app, "device", {}, REMOTE_ADDR="198.51.100.1").status_int == 200


def test_ten_wrong_codes_of_an_account(app, ada):
    # C-LIM-10, T-C21
    right = begin(app)["userCode"]
    for number in range(10):
        # A right one neither counts nor resets.
        type_code(ada, right)
        type_code(ada, "BBBB-BBBB", 400, REMOTE_ADDR=f"198.51.100.{number}")
    page = type_code(ada, right, 429, REMOTE_ADDR="198.51.100.99")
    assert 800 <= int(page.headers["Retry-After"]) <= 900
    fields = {"csrf_token": token_of(ada), "userCode": right, "currentPassword": PASSWORD}
    for button in ("allow", "deny"):
        ada.post(DEVICE, {**fields, button: "1"}, status=429)
    write(app, update(Attempt).values(at=now() - timedelta(seconds=901)))
    type_code(ada, right)


def test_ten_wrong_codes_of_a_caller(app, ada):
    # C-LIM-10
    eve, right = sign_in(app, "eve@example.org"), begin(app)["userCode"]
    for _ in range(5):
        type_code(ada, "BBBB-BBBB", 400)
        type_code(eve, "BBBB-BBBB", 400)
    type_code(sign_in(app, "bob@example.org"), right, 429)
    type_code(ada, right, 200, REMOTE_ADDR="198.51.100.1")


def test_a_clock_set_back_extends_no_code(app, ada):
    codes = begin(app)
    set_codes(app, expires_at=now() + timedelta(seconds=660))
    assert polled(app, codes) == (400, "expired_token")
    type_code(ada, codes["userCode"], 400)


def test_a_second_program_never_shows_the_same_code(app, monkeypatch):
    # C-ACC-27
    letters = iter("BCDFGHJK" * 3 + "ZZZZZZZZ")
    monkeypatch.setattr(device_codes.secrets, "choice", lambda _letters: next(letters))
    assert [begin(app)["userCode"] for _ in range(2)] == ["BCDF-GHJK", "ZZZZ-ZZZZ"]


def test_only_hashes_are_kept_in_no_backup_and_logs_have_neither_codes_nor_labels(app, ada, caplog):
    # C-ACC-31
    for logger in ("", "modhub", "modhub.security"):
        caplog.set_level(logging.DEBUG, logger)
    codes = begin(app)
    type_code(ada, "BBBB-BBBB", 400)
    allow(ada, codes["userCode"])
    [row] = rows(app)
    polled(app, codes)
    kept = " ".join(str(getattr(row, column.name)) for column in DeviceCode.__table__.columns).upper()
    plain = codes["userCode"].replace("-", "")
    secrets = [codes["deviceCode"], codes["userCode"], plain]
    assert [secret for secret in secrets if secret.upper() in kept] == []
    # All eight letters can be tried on a plain hash in no time.
    assert device_codes.token_digest(plain) != row.user_hash
    assert DeviceCode.__table__.info == {"in_backup": False}
    assert '"event": "device code refused"' in caplog.text
    secrets += [row.device_hash, row.user_hash, LABEL, "BBBB"]
    assert [secret for secret in secrets if secret in caplog.text] == []


def test_codes_are_of_one_deployment(auth):
    # C-TOK-4, T-C21
    new = "the newest secret of this deployment, long"
    app = auth()
    url = str(app.registry.settings["sqlalchemy.url"])
    rotated = auth(url=url, modhub__secret=f"{new}\n{TEST_SECRET}")
    stranger = auth(url=url, modhub__secret="one that neither of them has, and long enough")
    code, ada = begin(app)["userCode"], sign_in(rotated)
    type_code(ada, code)
    type_code(sign_in(stranger, "eve@example.org"), code, 400)


def allowed(app, account_id=1):
    """A code that this account has allowed by its first login."""
    codes = begin(app)
    with app.databases.write_session.begin() as session:
        assert lock_account(session, account_id) is not None
        device_codes.allow(session, app.registry.settings, codes["userCode"], account_id, account_id)
    return codes


def tried(app, act):
    try:
        with app.databases.write_session.begin() as session:
            act(session)
    except ApiError:
        return False
    return True


@race
@pytest.mark.process
@pytest.mark.postgres
def test_of_many_who_decide_one_does(app, person):
    # C-ACC-30
    settings = app.registry.settings
    for number in range(1, 5):
        post(app, "register", {**person, "email": f"ada{number}@example.org"})
    for _ in range(5):
        codes = begin(app)

        def decide(number, session, code=codes["userCode"]):
            lock_account(session, number)
            if number % 2:
                device_codes.allow(session, settings, code, number, number)
            else:
                device_codes.deny(session, settings, code)

        assert sum(at_once([partial(tried, app, partial(decide, number)) for number in range(1, 5)])) == 1


@race
@pytest.mark.process
@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_poll_waits_for_a_block_that_is_being_written(app, person, monkeypatch):
    # C-ACC-31; SQLite has one writer.
    post(app, "register", person)
    codes, locking, lock = allowed(app), Event(), device_codes.lock_account
    monkeypatch.setattr(device_codes, "lock_account", lambda *arguments: locking.set() or lock(*arguments))
    with ThreadPoolExecutor(1) as pool:
        with app.databases.write_session.begin() as session:
            account = lock_account(session, 1)
            later = pool.submit(poll, app, codes)
            assert locking.wait(30)
            assert not wait([later], timeout=0.5).done
            block_accounts(session, [account])
        assert refusal(later.result(120)) == (400, "expired_token")


@race
@pytest.mark.process
@pytest.mark.postgres
def test_of_many_who_redeem_one_does(app, person):
    # C-ACC-29
    """Past the interval, which lets only one through: as two polls whose second comes after the pause."""
    post(app, "register", person)
    for _ in range(5):
        code = allowed(app)["deviceCode"]

        def redeem(session, code=code):
            device_codes.redeem(session, app.registry.settings, code, 1)

        assert sum(at_once([partial(tried, app, redeem)] * CONTENDERS)) == 1
