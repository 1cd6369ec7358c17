"""The request bodies of accounts, and how their fields are cleaned (C-ACC-1; C-ERR-1, C-ACC-1)."""

from typing import Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from modhub import text
from modhub.limits import KB
from modhub.payload import read_json
from modhub.request import Request
from modhub_auth.models import MAX_CLIENT_LABEL, MAX_DISPLAY_NAME

MAX_ACCOUNT_BODY: Final = 64 * KB
"""Bytes of a body, of a form as well: nothing in it is long, and anybody may send one."""
OptionalString = str | None | UnsetType
_Model = TypeVar("_Model", bound=Struct)


def read_account_body(request: Request, model: type[_Model]) -> _Model:
    """The body of an account call."""
    return read_json(request, model, MAX_ACCOUNT_BODY)


def _line(value: OptionalString, limit: int) -> str:
    return text.line(value, limit) if isinstance(value, str) else ""


class Labelled(Struct, rename="camel", kw_only=True):
    """A body that may name the client which the refresh token goes to."""

    client: OptionalString = UNSET

    def clean_client(self) -> str:
        """The label; empty when none was sent."""
        return _line(self.client, MAX_CLIENT_LABEL)


class Registration(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/register``"""

    email: str
    password: str
    display_name: OptionalString = UNSET

    def clean_display_name(self) -> str:
        """The name to show; empty when none was sent."""
        return _line(self.display_name, MAX_DISPLAY_NAME)


class SignIn(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/login``"""

    email: str
    password: str
    code: OptionalString = UNSET

    def clean_code(self) -> str:
        """The code as sent; empty when none was."""
        return self.code.strip() if isinstance(self.code, str) else ""


class Refresh(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/refresh``"""

    refresh_token: str


class SignOut(Struct, rename="camel"):
    """``POST /api/auth/logout``"""

    refresh_token: str


class Forgot(Struct):
    """``POST /api/auth/forgot``"""

    email: str
