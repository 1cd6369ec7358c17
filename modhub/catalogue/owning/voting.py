"""Votes on published mods (C-VOTE-1): one per account, counted on the mod's row."""

from collections.abc import Iterable

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, found
from modhub.catalogue.copies import IS_PUBLIC, mark_score_stale
from modhub.catalogue.documents import VotesDocument
from modhub.catalogue.models import Mod, Vote
from modhub.db import bulk, now


def check_not_owner(owner: int | None, account_id: int) -> None:
    """403 if the account owns the mod; checked before the vote is parsed (C-OWN-12)."""
    if owner == account_id:
        raise ApiError(403, "own_mod", "You can't vote on your own mod.")


def cast_vote(session: Session, mod_id: int | None, account_id: int, value: int) -> VotesDocument:
    """Set the account's vote: 1, -1, or 0 to withdraw it. 404 unless the mod is public, 403 on one's own mod."""
    mod = found(session.scalars(select(Mod).where(Mod.id == mod_id, IS_PUBLIC).with_for_update()).one_or_none())
    check_not_owner(mod.owner, account_id)
    vote = session.get(Vote, (mod.id, account_id))
    old = vote.value if vote else 0
    if old != value:
        _set_vote(session, mod.id, account_id, vote, value)
        mod.ups += (value == 1) - (old == 1)
        mod.downs += (value == -1) - (old == -1)
    session.flush()
    return VotesDocument(mod.ups, mod.downs, value)


def _set_vote(session: Session, mod_id: int, account_id: int, vote: Vote | None, value: int) -> None:
    if vote is None:
        session.add(Vote(mod_id=mod_id, account_id=account_id, value=value, cast_at=now()))
    elif value == 0:
        session.delete(vote)
    else:
        vote.value, vote.cast_at = value, now()


def withdraw_votes(session: Session, account_id: int, mod_ids: Iterable[int]) -> None:
    """Withdraw the account's votes on mods whose rows are locked, in a few statements per batch."""
    for batch in bulk.batches(mod_ids):
        votes = (Vote.account_id == account_id, Vote.mod_id.in_(batch))
        for counter, value in ((Mod.ups, 1), (Mod.downs, -1)):
            voted_mods = select(Vote.mod_id).where(*votes, Vote.value == value)
            bulk.execute_bulk(session, update(Mod).where(Mod.id.in_(voted_mods)).values({counter: counter - 1}))
        bulk.execute_bulk(session, delete(Vote).where(*votes))
        mark_score_stale(session, batch)


def vote_of(session: Session, mod_id: int | None, account_id: int) -> int:
    """Return the account's vote on a mod, 0 if there is none."""
    value = session.scalar(select(Vote.value).where(Vote.mod_id == mod_id, Vote.account_id == account_id))
    return value or 0
