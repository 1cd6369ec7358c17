"""What the catalogue deletes with an account: its mods with their files, and its votes (decisions 3.10)."""

from sqlalchemy import select
from sqlalchemy.orm import selectinload

from modhub.catalogue.models import Asset, Mod, Vote
from modhub.catalogue.services import erase
from modhub.catalogue.voting import vote
from modhub.events import AccountDeleted


def forget_account(event: AccountDeleted) -> None:
    """Delete all that the account owned here, in the event's own transaction."""
    session = event.session
    voted = select(Vote.mod_id).where(Vote.account_id == event.account_id).order_by(Vote.mod_id)
    for mod_id in session.scalars(voted).all():
        vote(session, mod_id, event.account_id, 0)
    owned = select(Mod).where(Mod.owner == event.account_id).order_by(Mod.id).with_for_update()
    erase(session, session.scalars(owned.options(selectinload(Mod.assets).joinedload(Asset.blob))).all())
