"""What callers present, and how they are challenged for it: what permissions and credentials of features share."""

from typing import Final

from modhub.errors import ApiError
from modhub.request import Request
from modhub.security.identity import NOBODY, CredentialKind

MACHINE_KEY_REALM: Final = "machine"
"""The principal of every caller with a machine key."""
ADDRESS_KEY_REALM: Final = "address"
"""The principal of the caller with the address key."""


def presented_key(request: Request) -> str | None:
    """The ``X-Api-Key`` header as sent, None when there is none."""
    value = request.environ.get("HTTP_X_API_KEY")
    # WSGI hands over latin-1; keys are configured as UTF-8.
    return None if value is None else value.encode("latin-1").decode("utf-8", "surrogateescape")


def bearer_challenge(request: Request) -> ApiError:
    """401 for a bearer address, one for anonymous and stranger; a bad token alone adds its error (C-ERR-6)."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    presented = scheme.lower() == "bearer" and token.strip()
    invalid = presented and request.identify(CredentialKind.ACCOUNT) is NOBODY
    challenge = 'Bearer realm="modhub"' + (', error="invalid_token"' if invalid else "")
    message = "This needs the access token of the account that it belongs to."
    return ApiError(401, "unauthorized", message, headers={"WWW-Authenticate": challenge})
