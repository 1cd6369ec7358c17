"""The credentials that callers present, and the challenges for them; shared with features."""

from typing import Final

from modhub.base.errors import ApiError
from modhub.base.identity import NOBODY, CredentialKind
from modhub.http.request import Request

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
    """401 for bearer tokens, the same for anonymous callers and strangers; only a bad token adds an error (C-ERR-6)."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    presented = scheme.lower() == "bearer" and token.strip()
    invalid = presented and request.identify(CredentialKind.ACCOUNT) is NOBODY
    challenge = 'Bearer realm="modhub"' + (', error="invalid_token"' if invalid else "")
    message = "This needs the access token of the account that it belongs to."
    return ApiError(401, "unauthorized", message, headers={"WWW-Authenticate": challenge})
