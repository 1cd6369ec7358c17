"""What accounts keep for the length of an application; it hangs on the registry."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from modhub.db import Databases
from modhub_auth import lapsed, links, recovery
from modhub_auth.factor import Proposals
from modhub_auth.finding import Finder
from modhub_auth.letters import PURPOSE as LETTER
from modhub_auth.letters import Writer
from modhub_auth.limits import Limits
from modhub_auth.openid import Steam
from modhub_auth.passwords import Gate, Passwords
from modhub_auth.post import post_from
from modhub_auth.sealing import Seal
from modhub_auth.sending import Sender
from modhub_auth.tokens import AccessTokens


@dataclass(slots=True)
class Parts:
    """``registry.accounts``; a test may put cheaper ``passwords`` in."""

    databases: Databases
    finder: Finder
    passwords: Passwords
    tokens: AccessTokens
    limits: Limits
    seal: Seal
    proposals: Proposals
    platforms: dict[str, Steam]
    """The platforms that are switched on, by name."""
    pending: Seal
    """Seals who has come from a platform while a code is asked for."""
    writer: Writer
    sender: Sender


def tidy(limits: Limits, session: Session) -> None:
    """Forget what time has ended."""
    limits.purge(session)
    links.purge(session)
    lapsed.purge(session)


def make_parts(registry: Any) -> Parts:
    """The parts of this application; its settings are declared by now."""
    settings, databases = registry.settings, registry.databases
    secret = settings["modhub.secret"]
    limits = Limits(databases, timedelta(seconds=settings["modhub_auth.window_seconds"]))
    writer = Writer(settings["modhub.base_url"], settings["mail.default_sender"], Seal(secret, LETTER))
    return Parts(
        databases,
        Finder(databases.reads),
        Passwords(Gate()),
        AccessTokens(secret),
        limits,
        Seal(secret, "authenticator secret"),
        Proposals(secret[0]),
        {Steam.name: Steam(settings["modhub_auth.steam_provider"])} if settings["modhub_auth.steam"] else {},
        Seal(secret, "platform sign-in"),
        writer,
        Sender(
            databases,
            writer,
            post_from(settings),
            partial(recovery.write_resets, databases, writer, registry.languages),
            partial(tidy, limits),
        ),
    )


def parts(request: Any) -> Parts:
    """The parts of the application that serves ``request``."""
    found: Parts = request.registry.accounts
    return found
