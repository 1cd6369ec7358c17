"""The bodies of account calls, sent and answered."""

from typing import Annotated, Final, TypeVar

from msgspec import UNSET, Struct, UnsetType

from modhub.base.operations import about
from modhub.content import text
from modhub.content.limits import KB
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub_auth.models import MAX_CLIENT_LABEL, MAX_DISPLAY_NAME
from modhub_auth.signin.device_codes import CODE_SECONDS, INTERVAL_SECONDS
from modhub_auth.signin.passwords import MAX_PASSWORD, MIN_PASSWORD
from modhub_auth.tokens import ACCESS_SECONDS, REFRESH_LIFE

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


class DeviceSignIn(Labelled, rename="camel", kw_only=True):
    """``POST /api/auth/device``"""


class DevicePoll(Struct, rename="camel"):
    """``POST /api/auth/device/token``"""

    device_code: Annotated[str, about("The code that began the sign-in", "5f2c0c1e9d…")]


class SignOut(Struct, rename="camel"):
    """``POST /api/auth/logout``"""

    refresh_token: Annotated[str, about("The token to end", "5f2c0c1e9d…")]


class Exchange(Struct):
    """``POST /api/auth/exchange``"""

    key: Annotated[str, about("The publisher key", "mhk_…")]


class Forgot(Struct):
    """``POST /api/auth/forgot``"""

    email: Annotated[str, about("The address", "ada@example.org")]


class SessionDocument(Struct, rename="camel"):
    """The response to register, login and refresh."""

    access_token: Annotated[str, about("For the header `Authorization`", "01000000000000000b…")]
    expires_in_seconds: Annotated[int, about("From now", ACCESS_SECONDS)]
    refresh_token: Annotated[str, about(f"For the next session, once; {REFRESH_LIFE.days} days", "5f2c0c1e9d…")]
    account_id: Annotated[int, about("Who this is; an account may have several sign-in methods", 7)]
    display_name: Annotated[str, about("What people see", "Modder 7")]


class DeviceCodesDocument(Struct, rename="camel"):
    """``POST /api/auth/device``: a sign-in that a person allows elsewhere."""

    device_code: Annotated[str, about("For this program alone; show it to nobody", "5f2c0c1e9d…")]
    user_code: Annotated[str, about("What the person types at `verificationUrl`", "BCDF-GHJK")]
    verification_url: Annotated[str, about("Where", "https://mods.example.org/Modhub/account/device")]
    expires_in_seconds: Annotated[int, about("From now; then begin again", CODE_SECONDS)]
    interval_seconds: Annotated[int, about("How long to wait before each poll", INTERVAL_SECONDS)]


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
