"""Races between two processes: a token, code or link works once, and nothing survives a reset.

Every run makes four rounds of eight contenders each, eight where ``CI`` is set. ``MODHUB_LONG_RACES=1`` makes 200, and
500 of reset against refresh; that takes minutes.
"""

import os
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyotp
import pytest

from modhub_testing.caller import Caller, CallerResponse, patiently
from modhub_testing.service import PASSWORD
from tests.races import patiently_at_once

LONG = bool(os.environ.get("MODHUB_LONG_RACES"))
HOME = "/Modhub/account"
CONTENDERS = 8
FEW = 8 if os.environ.get("CI") else 4
ROUNDS = 200 if LONG else FEW
RESETS = 500 if LONG else FEW
pytestmark = [pytest.mark.long, pytest.mark.timeout(3600 if LONG else 300), pytest.mark.postgres]


def one_had_it(sent: list[CallerResponse], refusal: int) -> bool:
    """One success; the others are refused, or told that too many hash just now (C-LIM-1)."""
    statuses = Counter(answer.status for answer in sent)
    return statuses[200] == 1 and set(statuses) <= {200, refusal, 503}


@pytest.fixture(scope="module")
def service(services, kind):
    """Without rate limits: the races must not end in a 429."""
    made = services(kind, 2, settings={"modhub_auth.failures": "1000000"})
    yield made
    made.stop()


@pytest.fixture
def person(service) -> dict[str, str]:
    return {"email": f"{secrets.token_hex(6)}@example.org", "password": PASSWORD}


@pytest.fixture
def session(service, person) -> Any:
    return service.caller().need(201, "POST", "/api/auth/register", person)


def test_of_eight_refreshes_of_one_token_one_is_answered(service, session):
    # T-C1
    caller = service.caller()
    for _ in range(ROUNDS):
        token = {"refreshToken": session["refreshToken"]}
        sent = patiently_at_once([lambda token=token: caller.ask("POST", "/api/auth/refresh", token)] * CONTENDERS)
        assert Counter(answer.status for answer in sent) == {200: 1, 401: CONTENDERS - 1}
        session = next(answer.json for answer in sent if answer.status == 200)


def test_of_eight_logins_with_one_code_one_is_answered(service, session, person, rows_of):
    # C-ACC-9, T-C3
    caller, rows, secret = service.caller(), rows_of(service, session), pyotp.random_base32()
    for _ in range(ROUNDS):
        rows.authenticator(secret)
        code = pyotp.TOTP(secret).now()
        spellings = [code, f"{code[:3]} {code[3:]}"] * (CONTENDERS // 2)
        sent = patiently_at_once(
            [lambda c=c: caller.ask("POST", "/api/auth/login", {**person, "code": c}) for c in spellings]
        )
        assert one_had_it(sent, 401)
        assert all(answer.json["twoFactorRequired"] for answer in sent if answer.status == 401)


@pytest.fixture
def follow(service, session, browse, rows_of) -> Callable[[str, list[dict[str, str]]], int]:
    """Eight browsers post the page of one link at once, in rounds, each its own fields; returns who won last."""

    def contend(purpose: str, fields: list[dict[str, str]]) -> int:
        rows, browsers = rows_of(service, session), [browse(service.caller()) for _ in range(CONTENDERS)]
        submissions = [
            (browser, browser.form(f"{HOME}/login"), own) for browser, own in zip(browsers, fields, strict=True)
        ]
        for _ in range(ROUNDS):
            path = f"{HOME}/{purpose}?token={rows.link(purpose)}"
            sent = patiently_at_once([partial(browser.post, path, own, token) for browser, token, own in submissions])
            assert one_had_it(sent, 410)
            assert browsers[0].get(path).status == 410
        return [answer.status for answer in sent].index(200)

    return contend


def test_of_eight_who_follow_one_link_one_sets_the_password(service, person, follow):
    # C-MAIL-4, T-C8
    passwords = [f"the password of contender {number}" for number in range(CONTENDERS)]
    last = follow("reset", [{"password": password} for password in passwords])
    caller = service.caller()
    caller.need(200, "POST", "/api/auth/login", {**person, "password": passwords[last]})
    caller.need(401, "POST", "/api/auth/login", {**person, "password": passwords[last - 1]})


def test_of_eight_who_follow_one_link_one_confirms_the_address(service, session, follow):
    follow("confirm", [{"password": PASSWORD}] * CONTENDERS)
    assert service.caller(session["accessToken"]).need(200, "GET", "/api/auth/me")["verified"] is True


class Refresher:
    """A program that exchanges its token again and again, each for the next, until it is refused."""

    def __init__(self, caller: Caller, token: str) -> None:
        self.caller = caller
        self.tokens = [token]

    def run(self, reset: threading.Event) -> int:
        """How often it was answered; what begins after the reset has been answered must be refused."""
        while True:
            late = reset.is_set()
            token = {"refreshToken": self.tokens[-1]}
            answer = patiently(lambda token=token: self.caller.ask("POST", "/api/auth/refresh", token))
            if answer.status != 200:
                assert answer.status == 401, answer
                return len(self.tokens) - 1
            assert not late, "a token has outlived the reset"
            self.tokens.append(answer.json["refreshToken"])


def test_no_refresh_token_outlives_a_reset(service, session, browse, rows_of):
    # C-ACC-17, T-C2
    """Three programs refresh without a pause while the password is being set by a page."""
    rows, browser, refreshed = rows_of(service, session), browse(service.caller()), 0
    token = browser.form(f"{HOME}/login")
    rounds = 0
    # Whether a program is quicker than the page is up to the machine: until it often was, there are more rounds.
    while rounds < RESETS or (refreshed <= RESETS and rounds < 10 * RESETS):
        rounds += 1
        path, reset = f"{HOME}/reset?token={rows.link('reset')}", threading.Event()
        refreshers = [Refresher(service.caller(), rows.client()) for _ in range(3)]
        with ThreadPoolExecutor(len(refreshers)) as pool:
            running = [pool.submit(refresher.run, reset) for refresher in refreshers]
            answer = browser.post(path, {"password": PASSWORD}, token)
            reset.set()
            refreshed += sum(future.result(200) for future in running)
        assert answer.status == 200
        assert service.rows(f"SELECT count(*) FROM auth_client WHERE account_id = {rows.account}") == [(0,)]
        for refresher in refreshers:
            refresher.caller.need(401, "POST", "/api/auth/refresh", {"refreshToken": refresher.tokens[-1]})
    assert refreshed > RESETS
