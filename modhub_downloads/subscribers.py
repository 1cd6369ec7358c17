"""What happens to counts when mods are deleted."""

from modhub.plugins.events import ModsDeleted
from modhub_downloads.services import delete_counts


def delete_counts_of_mods(event: ModsDeleted) -> None:
    """Delete the counts in the transaction of the mods."""
    delete_counts(event.session, event.mod_ids)
