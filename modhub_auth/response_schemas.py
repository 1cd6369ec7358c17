"""The response bodies of accounts (C-ACC-1)."""

from datetime import datetime

from msgspec import Struct

from modhub_auth.read_service import AccountReader, LoginRecord
from modhub_auth.services import SignedIn
from modhub_auth.signin.access_tokens import ACCESS_SECONDS, AccessTokens


class SessionDocument(Struct, rename="camel"):
    """The response to register, login and refresh."""

    access_token: str
    expires_in_seconds: int
    refresh_token: str
    account_id: int
    display_name: str


class KeySessionDocument(Struct, rename="camel"):
    """``POST /api/auth/exchange``: a session that ends with its access token."""

    access_token: str
    expires_in_seconds: int
    account_id: int
    display_name: str


class AccountDocument(Struct, rename="camel"):
    """``GET /api/auth/me``"""

    account_id: int
    kind: str
    subject: str
    display_name: str
    verified: bool


def session_document(signed_in: SignedIn, access_tokens: AccessTokens, time: datetime) -> SessionDocument:
    """The response to a new sign-in, with a new access token."""
    return SessionDocument(
        access_token=access_tokens.make(signed_in.login_id, signed_in.random_id, time),
        expires_in_seconds=ACCESS_SECONDS,
        refresh_token=signed_in.refresh_token,
        account_id=signed_in.account_id,
        display_name=signed_in.display_name,
    )


def account_document(login: LoginRecord, account_reader: AccountReader) -> AccountDocument:
    """The account with the login that it was created with, whichever login the token names (C-ACC-13)."""
    subject, verified = account_reader.original_login(login)
    return AccountDocument(login.account_id, login.kind, subject, login.display_name, verified)
