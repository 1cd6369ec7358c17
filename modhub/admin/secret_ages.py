"""Since when a secret of ``modhub.secret`` is in use: its fingerprint is recorded when a process first uses it."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.secret_fingerprints import fingerprints
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.events import ApplicationStarted
from modhub.ops import observations

log = logging.getLogger(__name__)
SEEN_BEFORE: Final = "secret "


def configured_secrets(settings: Mapping[str, Any]) -> list[str]:
    """The fingerprints of the configured secrets, in their order."""
    return fingerprints(settings["modhub.secret"])


def first_seen(databases: Databases) -> dict[str, datetime]:
    """When each secret was first used with this database, by its fingerprint."""
    recorded = observations.recorded_if_readable(databases, SEEN_BEFORE)
    return {name.removeprefix(SEEN_BEFORE): time for name, (time, _) in recorded.items()}


def record_secrets(registry: Any) -> None:
    """Record the configured secrets that are not known yet; without a writable database another start does it."""
    try:
        with find_service(registry, Databases).best_effort_session.begin() as session:
            for fingerprint in configured_secrets(registry.settings):
                observations.record_observation(session, SEEN_BEFORE + fingerprint, keeps_first=True)
    except SQLAlchemyError as error:
        log.debug("the secrets are not recorded: %s", type(error).__name__)


def record_at_start(event: ApplicationStarted) -> None:
    """When the service starts."""
    record_secrets(event.registry)


def includeme(config: Configurator) -> None:
    """Subscribe to the start."""
    config.add_subscriber(record_at_start, ApplicationStarted)
