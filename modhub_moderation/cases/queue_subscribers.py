"""What the queue notes when mods are published, and forgets when mods and accounts are deleted."""

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite

from modhub.base.service_registry import find_service
from modhub.db import bulk, now
from modhub.plugins.events import AccountDeleted, ModPublished, ModsDeleted
from modhub.plugins.services import IMods
from modhub_moderation.cases.queue_models import FirstPublication, TitleShape


def note_first_publication(event: ModPublished) -> None:
    """Note the mod if its owner has published no other one."""
    session, mods = event.session, find_service(event.registry, IMods)
    owner = mods.get_mods(session, [event.mod_id])[event.mod_id].owner
    if session.get(FirstPublication, owner) is not None:
        return
    others = [mod for mod, _ in mods.get_mods_of_account(session, owner) if mod.id != event.mod_id]
    if not any(mod.published or mod.hidden for mod in others):
        dialect = postgresql if session.get_bind().dialect.name == "postgresql" else sqlite
        noted = dialect.insert(FirstPublication).values(account_id=owner, mod_id=event.mod_id, published_at=now())
        # Its owner may publish two at once.
        session.execute(noted.on_conflict_do_nothing())


def forget_mods_in_queue(event: ModsDeleted) -> None:
    """Nothing is known of deleted mods."""
    for model in (FirstPublication, TitleShape):
        bulk.execute_bulk(event.session, delete(model).where(model.mod_id.in_(event.mod_ids)))


def forget_account_in_queue(event: AccountDeleted) -> None:
    """Nor of deleted accounts."""
    bulk.execute_bulk(event.session, delete(FirstPublication).where(FirstPublication.account_id == event.account_id))
