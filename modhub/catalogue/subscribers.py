"""What the catalogue deletes with an account: its mods with their files, and its votes (C-ACC-18)."""

from sqlalchemy import select, union_all
from sqlalchemy.orm import aliased

from modhub.catalogue.models import Mod, Vote
from modhub.catalogue.services import erase_mods
from modhub.catalogue.voting import withdraw_votes
from modhub.events import AccountDeleted


def delete_mods_of_account(event: AccountDeleted) -> None:
    """Delete all that the account owned here, in the event's own transaction.

    The number of statements grows by the batch (`modhub.bulk`), never by the vote or the file.
    """
    session, account_id = event.session, event.account_id
    own = aliased(Mod)
    concerned = union_all(
        select(own.id).where(own.owner == account_id), select(Vote.mod_id).where(Vote.account_id == account_id)
    )
    # All locked by one statement and in one order: two accounts that go at once do not wait for each other.
    locked = select(Mod.id, Mod.owner).where(Mod.id.in_(concerned)).order_by(Mod.id).with_for_update()
    rows = session.execute(locked).all()
    withdraw_votes(session, account_id, [mod_id for mod_id, owner in rows if owner != account_id])
    erase_mods(session, [mod_id for mod_id, owner in rows if owner == account_id])
