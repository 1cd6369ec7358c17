"""Votes on published mods (C-VOTE-1): one an account, counted on the mod's row."""

from collections.abc import Iterable

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub import bulk
from modhub.catalogue.models import Mod, Vote
from modhub.catalogue.public_copies import IS_PUBLIC, mark_score_stale
from modhub.catalogue.response_schemas import VotesDocument
from modhub.errors import ApiError, not_found


def refuse_own_vote(owner: int | None, account_id: int) -> None:
    """403 on one's own mod, before the vote itself is looked at (C-OWN-12)."""
    if owner == account_id:
        raise ApiError(403, "own_mod", "You can't vote on your own mod.")


def cast_vote(session: Session, mod_id: int | None, account_id: int, value: int) -> VotesDocument:
    """Set the account's vote to 1, -1 or, to withdraw it, 0. 404 unless it is public, 403 on one's own mod."""
    mod = session.scalars(select(Mod).where(Mod.id == mod_id, IS_PUBLIC).with_for_update()).one_or_none()
    if mod is None:
        raise not_found()
    refuse_own_vote(mod.owner, account_id)
    before = session.get(Vote, (mod.id, account_id))
    old = before.value if before else 0
    if old != value:
        _set(session, mod.id, account_id, before, value)
        mod.ups += (value == 1) - (old == 1)
        mod.downs += (value == -1) - (old == -1)
    session.flush()
    return VotesDocument(mod.ups, mod.downs, value)


def _set(session: Session, mod_id: int, account_id: int, before: Vote | None, value: int) -> None:
    if before is None:
        session.add(Vote(mod_id=mod_id, account_id=account_id, value=value))
    elif value == 0:
        session.delete(before)
    else:
        before.value = value


def withdraw_votes(session: Session, account_id: int, mod_ids: Iterable[int]) -> None:
    """Withdraw what the account voted on these mods, whose rows are locked: a few statements for a batch of mods."""
    for batch in bulk.batches(mod_ids):
        cast = (Vote.account_id == account_id, Vote.mod_id.in_(batch))
        for counter, value in ((Mod.ups, 1), (Mod.downs, -1)):
            voted = select(Vote.mod_id).where(*cast, Vote.value == value)
            bulk.execute_bulk(session, update(Mod).where(Mod.id.in_(voted)).values({counter: counter - 1}))
        bulk.execute_bulk(session, delete(Vote).where(*cast))
        mark_score_stale(session, batch)


def vote_of(session: Session, mod_id: int | None, account_id: int) -> int:
    """The account's vote on a mod, 0 for none."""
    found = session.scalar(select(Vote.value).where(Vote.mod_id == mod_id, Vote.account_id == account_id))
    return found or 0
