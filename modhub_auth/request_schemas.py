"""The request bodies of accounts and the cleaning of their fields (C-ACC-1; C-ERR-1)."""

from typing import Annotated, Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from modhub.base.operations import about
from modhub.content import text
from modhub.content.limits import KB
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub_auth.models import MAX_CLIENT_LABEL, MAX_DISPLAY_NAME
from modhub_auth.signin.passwords import MAX_PASSWORD, MIN_PASSWORD

MAX_ACCOUNT_BODY: Final = 64 * KB
"""Bytes of a JSON body or a form. No field is long, and anybody may send one."""
OptionalString = str | None | UnsetType
_Model = TypeVar("_Model", bound=Struct)


def read_account_body(request: Request, model: type[_Model]) -> _Model:
    """The body of an account call."""
    return read_json(request, model, MAX_ACCOUNT_BODY)


def _line(value: OptionalString, limit: int) -> str:
    return text.line(value, limit) if isinstance(value, str) else ""


class Labelled(Struct, rename="camel", kw_only=True):
    """A body that may name the client that gets the refresh token."""

    client: Annotated[
        OptionalString,
        about(
            f"A label for this program, cut at {MAX_CLIENT_LABEL} characters; the account's page lists "
            "signed-in programs by it. If it is not sent with a refresh, the old one stays",
            "Overlay",
        ),
    ] = UNSET

    def clean_client(self) -> str:
        """The client's label, or empty."""
        return _line(self.client, MAX_CLIENT_LABEL)


class Registration(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/register``"""

    email: Annotated[str, about("An address; capitals and outer spaces do not matter", "ada@example.org")]
    password: Annotated[
        str,
        about(
            f"{MIN_PASSWORD} to {MAX_PASSWORD:,} characters, any characters, never trimmed",
            "ten characters or more",
        ),
    ]
    display_name: Annotated[
        OptionalString,
        about(
            f"What people see; trimmed to {MAX_DISPLAY_NAME} characters. `Modder` and the number of the "
            "account when not sent",
            "Ada",
        ),
    ] = UNSET

    def clean_display_name(self) -> str:
        """The display name, or empty."""
        return _line(self.display_name, MAX_DISPLAY_NAME)


class SignIn(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/login``"""

    email: Annotated[str, about("The address", "ada@example.org")]
    password: Annotated[str, about("The password", "ten characters or more")]
    code: Annotated[
        OptionalString,
        about(
            "What the authenticator shows, six digits, spaces allowed; or one of the account's recovery "
            "codes. Each works once",
            "123 456",
        ),
    ] = UNSET

    def clean_code(self) -> str:
        """The code without outer spaces, or empty."""
        return self.code.strip() if isinstance(self.code, str) else ""


class Refresh(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/refresh``"""

    refresh_token: Annotated[str, about("Stops working once it has been accepted", "5f2c0c1e9d…")]


class SignOut(Struct, rename="camel"):
    """``POST /api/auth/logout``"""

    refresh_token: Annotated[str, about("The token to end", "5f2c0c1e9d…")]


class Exchange(Struct):
    """``POST /api/auth/exchange``"""

    key: Annotated[str, about("The publisher key", "mhk_…")]


class Forgot(Struct):
    """``POST /api/auth/forgot``"""

    email: Annotated[str, about("The address", "ada@example.org")]
