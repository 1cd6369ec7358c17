"""The bearer credential: reads the access token in ``Authorization`` and looks up its login."""

from zope.interface import implementer

from modhub.base.errors import ApiError
from modhub.base.identity import Identity, KeyScope, account_identity
from modhub.db import now
from modhub.plugins.resources import ICredential
from modhub.plugins.security import bearer_challenge
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.models import LoginKind
from modhub_auth.read_service import LoginRecord


def presented_token(request: Request) -> str:
    """The token of ``Authorization: Bearer`` (RFC 6750, 2.1); empty when there is none."""
    scheme, _, token = request.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    return token.lstrip(" ") if scheme.lower() == "bearer" else ""


@implementer(ICredential)
class BearerCredential:
    """A signed-in program. ``Identity.details`` is the `modhub_auth.read_service.LoginRecord` of its login."""

    def identify(self, request: Request) -> Identity | None:
        """The account; None when the token is missing, invalid or expired, or its login was deleted or has expired."""
        token = presented_token(request)
        auth = auth_services(request)
        claim = auth.access_tokens.claim_of(token, now()) if token else None
        login = None if claim is None else auth.account_reader.claimed_login(claim)
        if login is None:
            return None
        if login.login_kind == LoginKind.KEY:
            return self._identify_key(request, login)
        return account_identity(login.account_id, login, blocked=login.blocked)

    def _identify_key(self, request: Request, login: LoginRecord) -> Identity | None:
        key = auth_services(request).account_reader.key(login.login_id)
        if key is None or (key.expires_at is not None and key.expires_at <= now()):
            return None
        return account_identity(login.account_id, login, blocked=login.blocked, key_scope=KeyScope(key.mod_id))

    def challenge(self, request: Request) -> ApiError:
        """Return the 401 that names the bearer scheme (C-ERR-6)."""
        return bearer_challenge(request)
