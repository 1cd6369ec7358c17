"""Names of accounts: what others see, and what moderators can remove."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, delete, exists, select, update
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import account_blocked
from modhub.content.limits import PAGE_SIZE_MOST
from modhub.db import Id, bulk, from_micros, now
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.plugins.services import Profile, ProfileColumns
from modhub_auth.models import Account, Login, LoginKind, Offer, PublisherKey
from modhub_auth.offers import is_open
from modhub_auth.services import default_name, lock_account, share_account


class AccountProfiles:
    """See :class:`modhub.plugins.services.IProfiles`."""

    columns = ProfileColumns(Account.id, Account.display_name, Account.folded_name)

    def __init__(self, reader: RawQueryExecutor) -> None:
        self._reader = reader
        # Unused parameters are 0, which is no account's id. Without a type they would be INTEGER on PostgreSQL, which
        # refuses the larger numbers that addresses may have.
        id_parameters: list[Any] = [bindparam(f"id{index}", 0, type_=Id) for index in range(PAGE_SIZE_MOST)]
        self._profiles = PreparedQuery(
            select(Account.id, Account.display_name, Account.created_at).where(Account.id.in_(id_parameters))
        )

    def get_profiles(self, account_ids: set[int]) -> dict[int, Profile]:
        """The profiles of the accounts that exist."""
        parameters = {f"id{index}": account_id for index, account_id in enumerate(account_ids)}
        rows = self._reader.rows(self._profiles, **parameters)
        return {row[0]: Profile(row[1], from_micros(row[2])) for row in rows}


class Accounts:
    """See :class:`modhub.plugins.services.IAccounts`."""

    def lock(self, session: Session, account_id: int) -> bool:
        """Take a shared lock: a deletion waits for it, other shared locks do not."""
        return share_account(session, account_id) is not None

    def lock_active(self, session: Session, account_id: int) -> bool:
        """Take the same lock: blocking waits for it too."""
        row = share_account(session, account_id)
        if row is not None and row.blocked_at is not None:
            raise account_blocked()
        return row is not None

    def end_ownership(self, session: Session, mod_id: int) -> None:
        """Delete the keys for this mod alone, which ends their sessions, and close its offer."""
        keys = select(PublisherKey.login_id).where(PublisherKey.mod_id == mod_id)
        bulk.execute_bulk(session, delete(Login).where(Login.id.in_(keys)))
        bulk.execute_bulk(session, update(Offer).where(Offer.mod_id == mod_id, *is_open()).values(closed_at=now()))

    def make_sample(self, session: Any, name: str) -> int:
        """The id of the account with this name and without a login, created if there is none."""
        has_login = exists().where(Login.account_id == Account.id)
        account = session.scalars(select(Account).where(Account.display_name == name, ~has_login)).first()
        if account is None:
            account = Account(kind=LoginKind.PASSWORD, display_name=name, created_at=now())
            session.add(account)
            session.flush()
        return int(account.id)


def remove_name(session: Session, account_id: int, _key: str) -> dict[str, Any] | None:
    """Give the account the name of those that chose none (C-ACC-2)."""
    account = lock_account(session, account_id)
    if account is None or account.display_name == default_name(account):
        return None
    kept = {"name": account.display_name}
    _rename(session, account, default_name(account), "name removed by a moderator")
    return kept


def restore_name(session: Session, account_id: int, _key: str, kept: Mapping[str, Any]) -> bool:
    """Give it back its name; False if it has got another one."""
    account = lock_account(session, account_id)
    if account is None or account.display_name not in {default_name(account), kept["name"]}:
        return False
    if account.display_name != kept["name"]:
        _rename(session, account, kept["name"], "name restored by a moderator")
    return True


def _rename(session: Session, account: Account, name: str, action: str) -> None:
    account.display_name = name
    record(session, action, "account", account.id)
    session.flush()
