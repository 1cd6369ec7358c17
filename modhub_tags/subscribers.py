"""What happens to tags when mods are deleted."""

from modhub.plugins.events import ModsDeleted
from modhub_tags.services import delete_tags


def delete_tags_of_mods(event: ModsDeleted) -> None:
    """Delete the tags in the transaction of the mods."""
    delete_tags(event.session, event.mod_ids)
