"""The people behind account numbers, for the pages of others and for the samples of a new installation."""

from typing import Any

from sqlalchemy import exists, select
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.db import now
from modhub.interfaces import IAccounts, IDemoAccounts, IProfiles
from modhub_auth.models import Account, Kind, Login


@implementer(IProfiles)
class Profiles:
    """See :class:`modhub.interfaces.IProfiles`."""

    def display_names(self, session: Session, account_ids: set[int]) -> dict[int, str]:
        """The name of each account that is there."""
        wanted = select(Account.id, Account.display_name).where(Account.id.in_(account_ids))
        return {row.id: row.display_name for row in session.execute(wanted)}


@implementer(IAccounts)
class Accounts:
    """See :class:`modhub.interfaces.IAccounts`."""

    def hold(self, session: Session, account_id: int) -> bool:
        """A shared lock: a deletion waits for it, other holders do not."""
        held = select(Account.id).where(Account.id == account_id).with_for_update(read=True)
        return session.scalar(held) is not None


@implementer(IDemoAccounts)
class DemoAccounts:
    """See :class:`modhub.interfaces.IDemoAccounts`. A sample account has no login."""

    def account_for(self, session: Any, name: str) -> int:
        """The account without a login that bears this name, made when it is not there."""
        login = exists().where(Login.account_id == Account.id)
        known = session.scalars(select(Account).where(Account.display_name == name, ~login)).first()
        if known is None:
            known = Account(kind=Kind.PASSWORD.value, display_name=name, created_at=now())
            session.add(known)
            session.flush()
        return int(known.id)
