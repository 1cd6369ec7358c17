"""The request bodies of accounts and the cleaning of their fields (C-ACC-1; C-ERR-1)."""

from typing import Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from modhub.content import text
from modhub.content.limits import KB
from modhub.http.payload import read_json
from modhub.http.request import Request
from modhub_auth.models import MAX_CLIENT_LABEL, MAX_DISPLAY_NAME

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

    client: OptionalString = UNSET

    def clean_client(self) -> str:
        """The client's label, or empty."""
        return _line(self.client, MAX_CLIENT_LABEL)


class Registration(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/register``"""

    email: str
    password: str
    display_name: OptionalString = UNSET

    def clean_display_name(self) -> str:
        """The display name, or empty."""
        return _line(self.display_name, MAX_DISPLAY_NAME)


class SignIn(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/login``"""

    email: str
    password: str
    code: OptionalString = UNSET

    def clean_code(self) -> str:
        """The code without outer spaces, or empty."""
        return self.code.strip() if isinstance(self.code, str) else ""


class Refresh(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/refresh``"""

    refresh_token: str


class SignOut(Struct, rename="camel"):
    """``POST /api/auth/logout``"""

    refresh_token: str


class Exchange(Struct):
    """``POST /api/auth/exchange``"""

    key: str


class Forgot(Struct):
    """``POST /api/auth/forgot``"""

    email: str
