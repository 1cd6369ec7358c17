"""What happens to mods and accounts, as far as it concerns scanning."""

from modhub.base.service_registry import find_service
from modhub.plugins.events import AccountDeleted, ModChanged, ModPublishing, ModsDeleted
from modhub.plugins.services import IMods
from modhub_moderation.scanning import services
from modhub_moderation.scanning.inspection import scanner_down


def refuse_publication(event: ModPublishing) -> None:
    """409 unless all files of the mod were scanned and found clean."""
    services.refuse_unscanned(event.session, event.mod_id)


def keep_unscanned_from_public(event: ModChanged) -> None:
    """503 for an upload that would wait for the scanner, but belongs to a mod that everybody sees (C-SCN-6).

    The upload has locked the mod by now. A hidden mod counts, because everybody sees it once it is released.
    """
    if services.adds_waiting_file(event.session, event.mod_id):
        mod = find_service(event.registry, IMods).get_mods(event.session, [event.mod_id]).get(event.mod_id)
        if mod is not None and (mod.published or mod.hidden):
            raise scanner_down()


def forget_waiting_files(event: ModsDeleted) -> None:
    """Their files wait no longer."""
    services.forget_scans_of_mods(event.session, event.mod_ids)


def forget_account_of_hits(event: AccountDeleted) -> None:
    """What was found stays without the account."""
    services.forget_uploader(event.session, event.account_id)
