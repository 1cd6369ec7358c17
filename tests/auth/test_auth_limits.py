"""Limits on sign-in, register and forgot."""

from collections import Counter
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

from modhub.base.errors import ApiError
from modhub.db import now
from modhub_auth import rate_limits
from modhub_auth.container import AuthServices
from modhub_auth.models import Attempt
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.signin.passwords import QueuedHasher
from modhub_testing.pages import new_visitor
from tests.people import read, write
from tests.races import at_once

from .conftest import forgot, send, sign_up

pytestmark = pytest.mark.slow

WRONG = {"email": "ada@example.org", "password": "wrong horse battery"}


def login(app, credentials, caller="192.0.2.1", **headers):
    environ = {"REMOTE_ADDR": caller}
    return app.post_json("/api/auth/login", credentials, extra_environ=environ, headers=headers, expect_errors=True)


def attempts(app):
    return read(app, select(Attempt))


def age(app, by):
    """Let time pass for what is in the database."""
    write(app, update(Attempt).values(at=now() - by))


def test_ten_failures_then_429_even_with_the_right_password(app, person):
    # C-LIM-1
    sign_up(app, person)
    for number in range(10):
        assert login(app, WRONG, f"192.0.2.{number}").status_int == 401
    answer = login(app, person, "198.51.100.1")
    assert (answer.status_int, answer.json["error"]) == (429, "too_many_attempts")
    assert 800 <= answer.json["retryAfterSeconds"] <= 900
    assert login(app, {**person, "email": "eve@example.org"}, "198.51.100.1").status_int == 401
    age(app, timedelta(seconds=901))
    assert login(app, person).status_int == 200


def test_ten_failures_of_one_caller_over_many_addresses(app, person):
    # C-LIM-1
    sign_up(app, person)
    for number in range(10):
        assert login(app, {**WRONG, "email": f"eve{number}@example.org"}).status_int == 401
    assert login(app, person).status_int == 429
    assert login(app, person, "192.0.2.2").status_int == 200


def test_an_address_counts_in_every_spelling_also_if_it_is_none(auth):
    # T-C6
    app = auth(modhub_auth__failures="2")
    for number, spellings in enumerate(((WRONG["email"], "Ada@EXAMPLE.ORG", " ADA@example.org "), ("no address",) * 3)):
        credentials = [{**WRONG, "email": email} for email in spellings]
        answers = [login(app, sent, f"192.0.{number}.{place}") for place, sent in enumerate(credentials)]
        assert [answer.status_int for answer in answers] == [401, 401, 429]


def test_a_success_neither_counts_nor_resets(auth, person):
    # C-LIM-1
    app = auth(modhub_auth__failures="3")
    sign_up(app, person)
    for _ in range(5):
        assert login(app, person).status_int == 200
    assert [login(app, WRONG).status_int for _ in range(2)] == [401, 401]
    assert login(app, person).status_int == 200
    assert login(app, WRONG).status_int == 401
    assert login(app, person).status_int == 429


def test_both_counters_rise_at_once_and_tell_nobody(app):
    # C-LIM-1
    login(app, WRONG)
    slots = attempts(app)
    assert len(slots) == 2
    assert len({slot.place for slot in slots}) == 1
    assert all(slot.settled for slot in slots)
    assert not any("ada" in slot.counter or "192" in slot.counter for slot in slots)


@pytest.mark.postgres
@pytest.mark.usefixtures("patience")
def test_of_a_burst_over_two_processes_ten_are_checked(auth, app, person, monkeypatch):
    # C-LIM-4, T-C6
    # Another application shares nothing but the database, as another process does.
    other = auth(url=str(app.registry.settings["sqlalchemy.url"]), fresh=True)
    sign_up(app, person)
    monkeypatch.setattr(rate_limits, "SLOT_WAIT_SECONDS", 60)
    verify, verified = QueuedHasher.verify, []
    monkeypatch.setattr(QueuedHasher, "verify", lambda *given: verified.append(given) or verify(*given))
    answers = at_once([partial(login, new_visitor(site), WRONG) for site in (app, other) * 20])
    assert len(verified) == 10
    assert Counter(answer.status_int for answer in answers) == {401: 10, 429: 30}


@pytest.fixture
def attempt(app):
    """``with attempt() as place:`` one at a time, and one failure is enough."""
    return partial(app.find_service(AuthServices).rate_limiter.attempt, [rate_counter("sign-in", "ada", 1)])


def refusal(attempt):
    with pytest.raises(ApiError) as caught, attempt():
        pass
    return caught.value.status, caught.value.code


def test_places_that_are_not_settled_make_others_wait(attempt, monkeypatch):
    # C-LIM-4
    assert rate_limits.SLOT_WAIT_SECONDS == 5
    monkeypatch.setattr(rate_limits, "SLOT_WAIT_SECONDS", 0.2)
    with attempt():
        assert refusal(attempt) == (503, "busy")
    with attempt() as place:
        place.failed = True
    assert refusal(attempt) == (429, "too_many_attempts")


def test_a_place_is_given_back_when_the_check_breaks(app, attempt):
    # C-LIM-4
    with pytest.raises(ValueError, match="broken"), attempt():
        raise ValueError("broken")
    assert attempts(app) == []


def test_a_place_left_by_a_process_that_died_counts_as_a_failure(app, attempt):
    with attempt():
        age(app, timedelta(seconds=61))
        assert refusal(attempt) == (429, "too_many_attempts")


def test_register_counts_every_call(auth, person):
    # C-LIM-8
    app = auth(modhub_auth__register_limit="3")
    sign_up(app, person)
    sign_up(app, person, 409)
    app.post_json("/api/auth/register", {}, status=400)
    sign_up(app, person, 429, email="eve@example.org")
    app.post_json("/api/auth/forgot", person, status=204)
    assert login(app, person).status_int == 200


def test_forgot_counts_every_call(auth):
    # C-LIM-8
    app = auth(modhub_auth__forgot_limit="2")
    for email in ("ada@example.org", "eve@example.org"):
        forgot(app, email)
    other = {"REMOTE_ADDR": "192.0.2.9"}
    app.post_json("/api/auth/forgot", {"email": "joe@example.org"}, extra_environ=other, status=204)
    page = app.get("/Modhub/account/forgot")
    send(page, 429, email="joe@example.org")
    app.post_json("/api/auth/forgot", {"email": "joe@example.org"}, status=429)


@pytest.mark.parametrize(
    ("peer", "caller"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_callers(peer, caller):
    # C-LIM-7
    assert caller_of(SimpleNamespace(environ={"REMOTE_ADDR": peer})) == caller


def test_a_clock_that_was_set_back_neither_forgives_nor_locks_out(auth, person):
    # T-F7
    """Failures from a time that has not come yet count as of now."""
    app = auth(modhub_auth__failures="2", modhub_auth__forgot_limit="1")
    sign_up(app, person)
    forgot(app, "eve@example.org")
    assert [login(app, WRONG).status_int for _ in range(2)] == [401, 401]
    age(app, -timedelta(days=20_000))
    answer = login(app, person)
    assert (answer.status_int, 895 <= answer.json["retryAfterSeconds"] <= 900) == (429, True)
    again = app.post_json("/api/auth/forgot", {"email": "eve@example.org"}, status=429)
    assert 895 <= again.json["retryAfterSeconds"] <= 900
    age(app, timedelta(seconds=901))
    assert login(app, person).status_int == 200


def test_every_429_says_when(auth):
    # C-ERR-7, C-HTTP-2
    app = auth(modhub_auth__failures="1", modhub_auth__register_limit="1", modhub_auth__forgot_limit="1")
    for path in ("login", "register", "forgot"):
        app.post_json(f"/api/auth/{path}", WRONG, expect_errors=True)
        answer = app.post_json(f"/api/auth/{path}", WRONG, status=429)
        assert set(answer.json) == {"error", "message", "retryAfterSeconds"}
        assert (answer.json["error"], type(answer.json["retryAfterSeconds"])) == ("too_many_attempts", int)
        assert answer.headers["Retry-After"] == str(answer.json["retryAfterSeconds"])
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Access-Control-Allow-Origin"] == "*"
