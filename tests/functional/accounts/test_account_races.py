"""Races between two processes: a link works once, and nothing survives a reset.

Of tokens: tests/functional/test_races.py; of codes: tests/auth/test_auth_factor.py.

Every run makes four rounds of eight contenders each, eight where ``CI`` is set. ``MODHUB_LONG_RACES=1`` makes 200, and
500 of reset against refresh; that takes minutes.
"""

import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from modhub_testing.caller import Caller, patiently
from modhub_testing.service import PASSWORD
from tests.races import patiently_at_once

LONG = bool(os.environ.get("MODHUB_LONG_RACES"))
HOME = "/Modhub/account"
CONTENDERS = 8
FEW = 8 if os.environ.get("CI") else 4
ROUNDS = 200 if LONG else FEW
RESETS = 500 if LONG else FEW
pytestmark = [pytest.mark.long, pytest.mark.timeout(3600 if LONG else 300), pytest.mark.postgres]


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


def test_of_eight_who_follow_one_link_one_sets_the_password(service, session, person, browse, rows_of):
    # C-MAIL-4, T-C8
    passwords = [f"the password of contender {number}" for number in range(CONTENDERS)]
    rows, browsers = rows_of(service, session), [browse(service.caller()) for _ in passwords]
    tokens = [browser.form(f"{HOME}/login") for browser in browsers]
    for _ in range(ROUNDS):
        path = f"{HOME}/reset?token={rows.link('reset')}"
        sent = patiently_at_once(
            [
                partial(browser.post, path, {"password": password}, token)
                for browser, password, token in zip(browsers, passwords, tokens, strict=True)
            ]
        )
        statuses = [answer.status for answer in sent]
        # The others are refused, or told that too many hash just now (C-LIM-1).
        assert (statuses.count(200), set(statuses) <= {200, 410, 503}) == (1, True)
        assert browsers[0].get(path).status == 410
    won, caller = statuses.index(200), service.caller()
    caller.need(200, "POST", "/api/auth/login", {**person, "password": passwords[won]})
    caller.need(401, "POST", "/api/auth/login", {**person, "password": passwords[won - 1]})


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
