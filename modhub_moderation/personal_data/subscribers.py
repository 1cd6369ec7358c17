"""What ends archives besides their age."""

from sqlalchemy import true

from modhub.plugins.events import AccountDeleted, DatabaseRestored
from modhub_moderation.personal_data import services
from modhub_moderation.personal_data.models import DataArchive


def end_archive_of_account(event: AccountDeleted) -> None:
    """A deleted account has no archive."""
    services.end_archives(event.session, DataArchive.account_id == event.account_id)


def end_all_archives(event: DatabaseRestored) -> None:
    """An archive may have ended since the backup, or its account may have been deleted."""
    ended = services.end_archives(event.session, true())
    if ended:
        event.notes.append(f"The archives of personal data are ended ({ended}): who waits for one asks again.")
