"""What the catalogue does when an account is deleted (C-ACC-18)."""

from sqlalchemy import select, union_all
from sqlalchemy.orm import aliased

from modhub.audit import record
from modhub.catalogue.models import Mod, Vote
from modhub.catalogue.services import erase_mods
from modhub.catalogue.voting import withdraw_votes
from modhub.plugins.events import AccountDeleted


def delete_mods_of_account(event: AccountDeleted) -> None:
    """Delete all data of the account, in the event's transaction.

    The number of statements grows per batch (`modhub.db.bulk`), not per vote or file.
    """
    session, account_id = event.session, event.account_id
    owned = aliased(Mod)
    affected = union_all(
        select(owned.id).where(owned.owner == account_id), select(Vote.mod_id).where(Vote.account_id == account_id)
    )
    # Lock all in one statement and one order, so that two concurrent deletions cannot deadlock.
    locked = select(Mod.id, Mod.owner).where(Mod.id.in_(affected)).order_by(Mod.id).with_for_update()
    rows = session.execute(locked).all()
    withdraw_votes(session, account_id, [mod_id for mod_id, owner in rows if owner != account_id])
    owned_ids = [mod_id for mod_id, owner in rows if owner == account_id]
    if owned_ids:
        record(session, "mods deleted with their account", "account", account_id, mods=" ".join(map(str, owned_ids)))
    erase_mods(session, owned_ids)
