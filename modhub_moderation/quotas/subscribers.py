"""When what quotas count is deleted."""

from typing import Any

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.events import AccountDeleted
from modhub_moderation.quotas import services


def forget_uploads(event: AccountDeleted) -> None:
    """A deleted account has no uploads."""
    services.delete_uploads_of_account(event.session, event.account_id)


def purge_uploads(registry: Any) -> None:
    """The worker that deletes what counts no more."""
    with find_service(registry, Databases).write_session.begin() as session:
        services.delete_old_uploads(session)
