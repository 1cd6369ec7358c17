"""Shared by the tests of accounts over real processes: page forms, and rows written directly."""

import hashlib
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

import pytest

from modhub_testing.form_browser import Browser
from modhub_testing.service import Installation


@pytest.fixture(scope="session")
def browse() -> type[Browser]:
    """``browse(caller)``: a browser without cookies."""
    return Browser


class Rows:
    """One account's rows, written directly to the database; secrets are stored as the service stores them."""

    def __init__(self, service: Installation, session: Mapping[str, Any]) -> None:
        self.service = service
        self.account = int(session["accountId"])
        [(self.login,)] = service.rows(f"SELECT id FROM auth_login WHERE account_id = {self.account}")

    def write(self, *statements: str) -> None:
        with closing(self.service.connect()) as connection:
            for statement in statements:
                connection.execute(statement)

    def link(self, purpose: str) -> str:
        """Insert a valid link; return its secret."""
        secret, expires = secrets.token_hex(32), time.time_ns() // 1000 + 600_000_000
        self.write(
            "INSERT INTO auth_link (purpose, account_id, login_id, secret_hash, expires_at) VALUES "
            f"('{purpose}', {self.account}, {self.login}, '{_hash(secret)}', {expires})"
        )
        return secret

    def client(self) -> str:
        """Insert the session of a program; return its refresh token."""
        token, now = secrets.token_hex(32), time.time_ns() // 1000
        self.write(
            "INSERT INTO auth_client (account_id, login_id, label, refresh_hash, created_at, used_at, expires_at) "
            f"VALUES ({self.account}, {self.login}, '', '{_hash(token)}', {now}, {now}, {now + 600_000_000})"
        )
        return token


@pytest.fixture(scope="session")
def rows_of() -> type[Rows]:
    """``rows_of(service, session)``: the rows of the account that has just registered."""
    return Rows


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
