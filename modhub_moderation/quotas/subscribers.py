"""When quotas are asked, and when what they count is deleted."""

from typing import Any

from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.events import AccountDeleted, StorageRequested, UploadStarted
from modhub_moderation.quotas import services
from modhub_moderation.quotas.limits import QuotaKeeper


def refuse_upload(keeper: QuotaKeeper, event: UploadStarted) -> None:
    """Refuse a file before it is sent, if the account has used up its uploads."""
    most = keeper.quota_of(event.account_id).uploads if keeper.has_limits else None
    if most is not None:
        with find_service(event.registry, Databases).readonly_session() as session:
            keeper.check_uploads(session, event.account_id, most)


def refuse_storage(keeper: QuotaKeeper, event: StorageRequested) -> None:
    """Refuse a mod or a file beyond the quota, and count the file, in its transaction."""
    if not keeper.has_limits:
        return
    if event.mod_id is None:
        keeper.check_mods(event.session, event.account_id)
    else:
        keeper.check_file(event.session, event.account_id, event.size, event.replaced)


def forget_uploads(event: AccountDeleted) -> None:
    """A deleted account has no uploads."""
    services.delete_uploads_of_account(event.session, event.account_id)


def purge_uploads(registry: Any) -> None:
    """The worker that deletes what counts no more."""
    with find_service(registry, Databases).write_session.begin() as session:
        services.delete_old_uploads(session)
