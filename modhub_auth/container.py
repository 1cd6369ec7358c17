"""The services of accounts, one container for each application."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.web.request import Request
from modhub_auth.mail.outbox import EMAIL_ENCRYPTION, Outbox
from modhub_auth.mail.sender import MailSender
from modhub_auth.mail.transports import transport_from_settings
from modhub_auth.rate_limits import RateLimiter
from modhub_auth.read_service import AccountReader
from modhub_auth.signin.openid import Steam
from modhub_auth.signin.passwords import HashingGate, QueuedHasher
from modhub_auth.signin.totp import AuthenticatorProposals
from modhub_auth.tokens import AccessTokens, SecretBox


@dataclass(slots=True)
class AuthServices:
    """The services of this feature, registered by this class. Tests may replace ``passwords`` by cheaper ones."""

    databases: Databases
    account_reader: AccountReader
    passwords: QueuedHasher
    access_tokens: AccessTokens
    rate_limiter: RateLimiter
    secret_box: SecretBox
    """Encrypts the secrets of authenticators."""
    proposals: AuthenticatorProposals
    platforms: dict[str, Steam]
    """The enabled platforms by name."""
    notes: SecretBox
    """Encrypts what a browser keeps between two steps, such as the login whose code is asked for."""
    outbox: Outbox
    mail_sender: MailSender


def create_auth_services(registry: Any) -> AuthServices:
    """Create the services of an application whose settings are declared."""
    settings, databases = registry.settings, find_service(registry, Databases)
    secret = settings["modhub.secret"]

    outbox = Outbox(
        settings["modhub.base_url"],
        settings["mail.default_sender"],
        SecretBox(secret, EMAIL_ENCRYPTION),
        site_name=settings["modhub.site_name"],
    )
    return AuthServices(
        databases,
        AccountReader(databases.raw_queries),
        QueuedHasher(HashingGate()),
        AccessTokens(secret),
        RateLimiter(databases, timedelta(seconds=settings["modhub_auth.window_seconds"])),
        SecretBox(secret, "authenticator secret"),
        AuthenticatorProposals(secret),
        {Steam.name: Steam(settings["modhub_auth.steam_provider"])} if settings["modhub_auth.steam"] else {},
        SecretBox(secret, "note"),
        outbox,
        MailSender(databases, outbox, transport_from_settings(settings)),
    )


def auth_services(request: Request) -> AuthServices:
    """The services of the request's application."""
    return request.find_service(AuthServices)
