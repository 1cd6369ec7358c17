"""What other features learn about mods as they are; about published ones see :mod:`.chains`."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from modhub.base.errors import OwnershipLost
from modhub.blobs.models import StoredBlob
from modhub.catalogue.copies import IS_PUBLIC
from modhub.catalogue.models import IS_THERE, Asset, Mod, PublicMod, PublicRequirement, Vote
from modhub.catalogue.owning.services import hand_over
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.db import bulk
from modhub.plugins.security import lock_account
from modhub.plugins.services import AccountUse, ModSummary

LAST_ID: Final = 2**63 - 1
"""The highest number that a column of ids holds."""
_SUMMARY: Final = (
    Mod.id,
    Mod.guid,
    Mod.title,
    Mod.owner,
    IS_PUBLIC,
    Mod.version,
    Mod.hidden_at.is_not(None),
    Mod.published_at,
)

_USE: Final = (
    select(
        Mod.owner,
        func.count(Mod.id.distinct()).label("mods"),
        func.count(Asset.id).label("files"),
        func.coalesce(func.sum(StoredBlob.size), 0).label("bytes"),
    )
    .outerjoin(Asset, Asset.mod_id == Mod.id)
    .outerjoin(StoredBlob, StoredBlob.id == Asset.blob_id)
    .where(IS_THERE)
    .group_by(Mod.owner)
)


def _account_use(row: Any) -> AccountUse:
    return AccountUse(row.mods, row.files, int(row.bytes))


class ModLookup:
    """See :class:`modhub.plugins.services.IMods`."""

    def get_mods(self, session: Session, mod_ids: Collection[int]) -> dict[int, ModSummary]:
        """Return the mods that exist, in one statement for five hundred."""
        # A body may contain a number of any size. One that a column cannot hold is an unknown id, not an error.
        batches = bulk.batches(mod_id for mod_id in mod_ids if 0 < mod_id <= LAST_ID)
        statements = (select(*_SUMMARY).where(Mod.id.in_(batch), IS_THERE) for batch in batches)
        return {row[0]: ModSummary(*row) for statement in statements for row in session.execute(statement)}

    def lock(self, session: Session, mod_id: int) -> bool:
        """Take a shared lock: it blocks deletion but not other shared locks."""
        if not 0 < mod_id <= LAST_ID:
            return False
        statement = select(Mod.id).where(Mod.id == mod_id, IS_THERE).with_for_update(read=True)
        return session.scalar(statement) is not None

    def lock_own(self, session: Session, mod_id: int | None, owner: int) -> ModSummary:
        """Take an exclusive lock, as the services of the catalogue do before they change a mod."""
        lock_account(session, owner)
        locked = select(Mod.id).where(Mod.id == (mod_id or 0), Mod.owner == owner).with_for_update()
        if session.scalar(locked) is None:
            raise OwnershipLost
        return ModSummary(*session.execute(select(*_SUMMARY).where(Mod.id == mod_id)).one())

    def hand_over(self, session: Session, mod_id: int, account_id: int) -> None:
        """Hand it over as the operator's command does."""
        hand_over(session, session.get_one(Mod, mod_id), account_id)

    def get_mods_of_account(self, session: Session, account_id: int) -> list[tuple[ModSummary, int]]:
        """Return the mods of an account, most recently changed first, with their dependents; one statement."""
        count = select(func.count()).select_from(PublicRequirement)
        count = count.join(PublicMod, PublicMod.id == PublicRequirement.mod_id)
        of_others = PublicMod.owner != account_id
        dependents = count.where(PublicRequirement.guid == Mod.guid, of_others).correlate(Mod).scalar_subquery()
        statement = select(*_SUMMARY, dependents).where(Mod.owner == account_id)
        rows = session.execute(statement.order_by(Mod.updated_at.desc(), Mod.id.desc()))
        return [(ModSummary(*summary), count) for *summary, count in rows]

    def get_authors(self, session: Session, account_ids: Collection[int]) -> set[int]:
        """Return those with a published mod, in one statement."""
        if len(account_ids) > PAGE_SIZE_MOST:
            raise ValueError(f"at most {PAGE_SIZE_MOST} accounts can be looked up at once")
        return set(session.scalars(select(PublicMod.owner).where(PublicMod.owner.in_(account_ids)).distinct()))

    def get_use(self, session: Session, account_id: int) -> AccountUse:
        """Count in one statement."""
        row = session.execute(_USE.where(Mod.owner == account_id)).one_or_none()
        return AccountUse() if row is None else _account_use(row)

    def get_creation_times(self, session: Session, account_id: int, since: datetime) -> list[datetime]:
        """Read them in one statement."""
        times = select(Mod.created_at).where(Mod.owner == account_id, Mod.created_at > since)
        return list(session.scalars(times.order_by(Mod.created_at.desc())))

    def get_use_of_accounts(self, session: Session) -> dict[int, AccountUse]:
        """Count in one statement; an account without mods is absent."""
        return {row.owner: _account_use(row) for row in session.execute(_USE)}

    def get_votes_since(self, session: Session, moment: datetime) -> dict[int, int]:
        """Sum them up by mod."""
        votes = select(Vote.mod_id, func.sum(Vote.value)).where(Vote.cast_at >= moment).group_by(Vote.mod_id)
        return {mod_id: int(number) for mod_id, number in session.execute(votes)}
