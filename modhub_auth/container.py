"""What accounts keep for the length of an application; one service of the application."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from modhub.db import Databases
from modhub.request import Request
from modhub.service_registry import find_service
from modhub.ui.i18n import Catalogs
from modhub_auth import expiry
from modhub_auth.encryption import SecretBox
from modhub_auth.mail import link_tokens
from modhub_auth.mail.outbox import EMAIL_ENCRYPTION as LETTER
from modhub_auth.mail.outbox import Outbox
from modhub_auth.mail.transports import transport_from_settings
from modhub_auth.mail.worker import MailWorker
from modhub_auth.platform.openid import Steam
from modhub_auth.rate_limits import RateLimiter
from modhub_auth.read_service import AccountReader
from modhub_auth.signin import recovery
from modhub_auth.signin.access_tokens import AccessTokens
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_auth.signin.totp import AuthenticatorProposals


@dataclass(slots=True)
class AuthServices:
    """The services of this feature, found by this class; a test may put cheaper ``passwords`` in."""

    databases: Databases
    finder: AccountReader
    passwords: QueuedHasher
    tokens: AccessTokens
    limits: RateLimiter
    seal: SecretBox
    proposals: AuthenticatorProposals
    platforms: dict[str, Steam]
    """The platforms that are switched on, by name."""
    pending: SecretBox
    """Seals who has come from a platform while a code is asked for."""
    writer: Outbox
    sender: MailWorker


def delete_expired(limits: RateLimiter, session: Session) -> None:
    """Forget what time has ended."""
    limits.purge(session)
    link_tokens.delete_expired_links(session)
    expiry.delete_expired_sessions(session)


def create_auth_services(registry: Any) -> AuthServices:
    """The parts of this application; its settings are declared by now."""
    settings, databases = registry.settings, find_service(registry, Databases)
    secret = settings["modhub.secret"]
    limits = RateLimiter(databases, timedelta(seconds=settings["modhub_auth.window_seconds"]))
    writer = Outbox(settings["modhub.base_url"], settings["mail.default_sender"], SecretBox(secret, LETTER))
    return AuthServices(
        databases,
        AccountReader(databases.raw_queries),
        QueuedHasher(HashingGate()),
        AccessTokens(secret),
        limits,
        SecretBox(secret, "authenticator secret"),
        AuthenticatorProposals(secret[0]),
        {Steam.name: Steam(settings["modhub_auth.steam_provider"])} if settings["modhub_auth.steam"] else {},
        SecretBox(secret, "platform sign-in"),
        writer,
        MailWorker(
            databases,
            writer,
            transport_from_settings(settings),
            partial(recovery.write_resets, databases, writer, find_service(registry, Catalogs)),
            partial(delete_expired, limits),
        ),
    )


def auth_services(request: Request) -> AuthServices:
    """The parts of the application that serves ``request``."""
    return request.find_service(AuthServices)
