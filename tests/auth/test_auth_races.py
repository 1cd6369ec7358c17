"""Races: of many concurrent uses exactly one succeeds."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from threading import Event

import pytest
from sqlalchemy import delete, select, update

from modhub.base.errors import ApiError
from modhub.catalogue.models import Mod
from modhub.plugins.services import IAccounts
from modhub_auth import services
from modhub_auth.container import AuthServices
from modhub_auth.mail import link_tokens
from modhub_auth.models import Account, ClientSession, Link, Login
from modhub_auth.signin import recovery
from tests.people import delete_person, read, write
from tests.races import at_once

from .conftest import reset_password, sign_up

pytestmark = [pytest.mark.process, pytest.mark.postgres, pytest.mark.usefixtures("patience")]

CONTENDERS = 8
WAIT = 120


def post(app, path, body):
    return app.post_json(f"/api/auth/{path}", body, expect_errors=True)


def test_of_many_refreshes_one_succeeds(app, person):
    # C-ACC-14, T-C1
    token = sign_up(app, person)["refreshToken"]
    for _ in range(5):
        held = token
        answers = at_once([lambda held=held: post(app, "refresh", {"refreshToken": held})] * CONTENDERS)
        assert Counter(answer.status_int for answer in answers) == {200: 1, 401: CONTENDERS - 1}
        token = next(answer.json["refreshToken"] for answer in answers if answer.status_int == 200)
    assert post(app, "refresh", {"refreshToken": token}).status_int == 200


def test_of_many_registrations_one_succeeds(auth, person):
    # C-ACC-4, T-E8
    app = auth(modhub_auth__register_limit="1000")
    for number in range(5):
        registration = {**person, "email": f"ada{number}@example.org"}
        answers = at_once([partial(post, app, "register", registration)] * CONTENDERS)
        assert Counter(answer.status_int for answer in answers) == {201: 1, 409: CONTENDERS - 1}
    with app.databases.readonly_session() as session:
        assert len(session.scalars(select(Account)).all()) == 5
        assert len(session.scalars(select(Login)).all()) == 5


def test_no_transaction_is_held_while_a_password_is_hashed(app, person, monkeypatch):
    passwords = app.find_service(AuthServices).passwords
    hashed, verify = passwords.hash, passwords.verify

    def write_meanwhile():
        # SQLite has one writer: this waits, and fails when the request holds its transaction.
        write(app, update(Account).values(kind="Password"))

    monkeypatch.setattr(passwords, "hash", lambda password: write_meanwhile() or hashed(password))
    monkeypatch.setattr(passwords, "verify", lambda known, password: write_meanwhile() or verify(known, password))
    post(app, "register", person)
    assert post(app, "login", person).status_int == 200


def test_a_password_that_changes_while_it_is_verified_does_not_sign_in(app, person, monkeypatch):
    post(app, "register", person)
    passwords = app.find_service(AuthServices).passwords
    verify, other = passwords.verify, passwords.hash("another password")

    def change(known, password):
        right = bool(verify(known, password))
        write(app, update(Login).values(password_hash=other))
        return right

    monkeypatch.setattr(passwords, "verify", change)
    assert post(app, "login", person).status_int == 401


def test_of_many_who_use_one_link_one_succeeds(app, person):
    own = app.find_service(AuthServices)
    post(app, "register", person)
    [login] = read(own, select(Login))
    for purpose in (link_tokens.RESET_LINK, link_tokens.CONFIRM_LINK) * 5:
        with own.databases.write_session.begin() as session:
            secret = link_tokens.create_link(session, purpose, login.account_id, login_id=login.id)

        def use(purpose=purpose, secret=secret):
            try:
                with own.databases.write_session.begin() as session:
                    if purpose == link_tokens.RESET_LINK:
                        reset_password(app, session, secret, "hash")
                    else:
                        recovery.confirm_address(session, secret, password_hash="hash")
            except ApiError:
                return False
            return True

        assert sum(at_once([use] * CONTENDERS)) == 1


@pytest.mark.parametrize("path", ["login", "refresh"])
def test_who_comes_while_a_reset_is_being_written_waits_for_it(app, person, path, monkeypatch):
    own = app.find_service(AuthServices)
    token = post(app, "register", person).json["refreshToken"]
    body = person if path == "login" else {"refreshToken": token}
    [login] = read(own, select(Login))
    locking, lock = Event(), services.lock_account
    monkeypatch.setattr(services, "lock_account", lambda *arguments: locking.set() or lock(*arguments))
    with ThreadPoolExecutor(1) as pool:
        with own.databases.write_session.begin() as session:
            secret = link_tokens.create_link(session, link_tokens.RESET_LINK, login.account_id, login_id=login.id)
            reset_password(app, session, secret)
            session.flush()
            later = pool.submit(post, app, path, body)
            # On SQLite it does not even begin before the reset has been committed.
            locking.wait(0.3)
            assert not wait([later], timeout=0.3).done
        assert later.result(WAIT).status_int == 401
    assert read(own, select(ClientSession)) == []


def test_who_forgets_while_a_reset_is_being_written_stands_in_no_ones_way(app, person, monkeypatch):
    """Account first, links second, in both: otherwise PostgreSQL ends one of the two as a deadlock."""
    own = app.find_service(AuthServices)
    account_id = post(app, "register", person).json["accountId"]
    for _ in range(2):
        assert post(app, "forgot", {"email": person["email"]}).status_int == 204
    recovery.queue_requested_resets(app.registry)
    assert post(app, "forgot", {"email": person["email"]}).status_int == 204
    locking, lock = Event(), services.lock_account
    monkeypatch.setattr(recovery, "lock_account", lambda *arguments: locking.set() or lock(*arguments))
    with ThreadPoolExecutor(1) as pool:
        with own.databases.write_session.begin() as session:
            lock(session, account_id)
            later = pool.submit(recovery.queue_requested_resets, app.registry)
            # On SQLite it does not even begin before this transaction has ended.
            sqlite = app.databases.dialect == "sqlite"
            assert locking.wait(0.2 if sqlite else WAIT) is not sqlite
            assert not wait([later], timeout=0.2).done
            session.execute(delete(Link).where(Link.account_id == account_id))
        later.result(WAIT)
    with own.databases.readonly_session() as session:
        assert [link.purpose for link in session.scalars(select(Link))] == [link_tokens.RESET_LINK]


def test_who_comes_while_a_deletion_waits_stands_behind_it(app, person):
    """Otherwise writers that overlap would hold off their account's deletion, or its block, as long as they like."""
    # T-E4
    account_id = post(app, "register", person).json["accountId"]
    write, accounts = app.databases.write_session, app.find_service(IAccounts)

    def made():
        with write.begin() as session:
            return bool(accounts.lock_active(session, account_id))

    with ThreadPoolExecutor(CONTENDERS + 1) as pool:
        with write.begin() as session:
            assert accounts.lock_active(session, account_id)
            deletion = pool.submit(delete_person, app, account_id)
            assert not wait([deletion], timeout=0.5).done
            later = [pool.submit(made) for _ in range(CONTENDERS)]
            assert not wait(later, timeout=0.2).done
        deletion.result(WAIT)
        # On SQLite they are not served in the order in which they came.
        assert app.databases.dialect == "sqlite" or [maker.result(WAIT) for maker in later] == [False] * CONTENDERS


def test_what_is_made_while_its_maker_is_deleted_is_not_there(app, person, monkeypatch):
    token = sign_up(app, person)["accessToken"]
    bearer = {"Authorization": f"Bearer {token}"}
    held = app.find_service(IAccounts)

    class DeletedMeanwhile:
        """The account goes between the check of its token and the first statement of its request."""

        def lock_active(self, session, account_id):
            delete_person(app, account_id)
            return bool(held.lock_active(session, account_id))

    monkeypatch.setitem(app.registry, IAccounts, DeletedMeanwhile())
    answer = app.post_json("/api/modhub", {"title": "An orphan"}, headers=bearer, status=401)
    assert answer.json["error"] == "unauthorized"
    assert read(app, select(Mod)) == []
