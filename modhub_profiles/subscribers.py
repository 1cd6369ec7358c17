"""What ends with mods and accounts."""

from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub_profiles import removable_parts, services


def delete_links_of_mods(event: ModsDeleted) -> None:
    """Delete the links of the mods."""
    services.delete_links(event.session, event.mod_ids)


def delete_profile_of_account(event: AccountDeleted) -> None:
    """Delete the profile and trash its pictures."""
    removable_parts.discard_kept_pictures(event.session, event.account_id)
    services.clear_profile(event.session, event.account_id)
