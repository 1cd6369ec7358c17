"""The response bodies of accounts (C-ACC-1)."""

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about
from modhub_auth.read_service import AccountReader, LoginRecord
from modhub_auth.services import SignedIn
from modhub_auth.signin.access_tokens import ACCESS_SECONDS, REFRESH_LIFE, AccessTokens


class SessionDocument(Struct, rename="camel"):
    """The response to register, login and refresh."""

    access_token: Annotated[str, about("For the header `Authorization`", "01000000000000000b…")]
    expires_in_seconds: Annotated[int, about("From now", ACCESS_SECONDS)]
    refresh_token: Annotated[str, about(f"For the next session, once; {REFRESH_LIFE.days} days", "5f2c0c1e9d…")]
    account_id: Annotated[int, about("Who this is; an account may have several sign-in methods", 7)]
    display_name: Annotated[str, about("What people see", "Modder 7")]


class KeySessionDocument(Struct, rename="camel"):
    """``POST /api/auth/exchange``: a session that ends with its access token."""

    access_token: Annotated[str, about("For the header `Authorization`", "01000000000000000c…")]
    expires_in_seconds: Annotated[int, about("From now; then exchange the key again", ACCESS_SECONDS)]
    account_id: Annotated[int, about("Whose key it is", 7)]
    display_name: Annotated[str, about("What people see", "Modder 7")]


class SecondFactorDocument(Struct, rename="camel"):
    """The password was right, and the account has an authenticator (C-ACC-8)."""

    error: Annotated[str, about("The code of the error", "second_factor_required")]
    message: Annotated[str, about("The sentence", "Send the code of the authenticator too; each code works once.")]
    two_factor_required: Annotated[bool, about("Always true: send the code of the authenticator, too", True)]


class AccountDocument(Struct, rename="camel"):
    """``GET /api/auth/me``"""

    account_id: Annotated[int, about("Who this is", 7)]
    kind: Annotated[str, about("How the account was made: `Password`, or `Platform` for a game platform's", "Password")]
    subject: Annotated[
        str,
        about(
            "The address or the platform's id of the sign-in method that the account was created with",
            "ada@example.org",
        ),
    ]
    display_name: Annotated[str, about("What people see", "Modder 7")]
    verified: Annotated[bool, about("Whether the address has been confirmed; true for a platform's", False)]


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
