"""What following asks on every page and for every private feed: one prepared statement each."""

from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, bindparam, case, cast, select

from modhub.db import from_micros
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor
from modhub.plugins.services import ChangeWatch, IModCards
from modhub.web.payload import encode
from modhub_auth.models import Account
from modhub_following.models import Follow, Reader, TargetKind
from modhub_following.services import feed_digest

UNREAD_MOST: Final = 99
"""More than these are not counted: pages show "99+"."""
_SECRET_MOST: Final = 100


class FollowReader:
    """Counts what is unread, and finds whose feed an address is; one per application."""

    def __init__(self, reader: RawQueryExecutor, cards: IModCards) -> None:
        self._reader = reader
        account: Any = bindparam("account")
        unread, untold = _watched_since(Reader.seen_at, account), _watched_since(Reader.told_until, account)
        self._unread = PreparedQuery(cards.count_changed(unread, account, UNREAD_MOST + 1))
        self._changed = PreparedQuery(cards.find_changed(unread, account))
        self._untold = PreparedQuery(cards.list_changed(untold, account))
        owner = select(Reader.account_id).join(Account, Account.id == Reader.account_id)
        owner = owner.where(Reader.feed_hash == bindparam("digest"), Account.blocked_at.is_(None))
        self._feed_owner = PreparedQuery(owner)

    def count_unread(self, account_id: int) -> int:
        """How many mods that the account follows have changed since it saw them, without its own.

        At most one more than `UNREAD_MOST`.
        """
        total: int = self._reader.rows(self._unread, account=account_id)[0][0]
        return total

    def find_unread(self, account_id: int, mods: Collection[int]) -> dict[int, bool]:
        """Which of these mods `count_unread` counts; True for those that were created since."""
        rows = self._reader.rows(self._changed, account=account_id, ids=encode(list(mods)).decode())
        return {mod_id: bool(is_new) for mod_id, is_new in rows}

    def find_untold(self, account_id: int) -> dict[int, datetime]:
        """Which mods have changed since the account's last digest, without its own; since when each is watched."""
        rows = self._reader.rows(self._untold, account=account_id)
        return {mod_id: from_micros(moment) for mod_id, moment in rows}

    def account_of_feed(self, secret: str) -> int | None:
        """Whose private feed has this secret in its address; None for any other, and while the account is blocked."""
        if len(secret) > _SECRET_MOST:
            return None
        rows = self._reader.rows(self._feed_owner, digest=feed_digest(secret))
        return rows[0][0] if rows else None


def _watched_since(moment: Any, account: Any) -> ChangeWatch:
    """All that the account follows, watched since it follows it and since this column of its reader."""
    return ChangeWatch(*(_watched(kind, moment, account) for kind in TargetKind))


def _watched(kind: TargetKind, moment: Any, account: Any) -> Any:
    """(key, moment) of what the account follows of this kind."""
    is_of_kind = Follow.kind == kind.value
    # Whatever the order of a plan: a name of a game is never cast.
    key = Follow.key if kind is TargetKind.GAME else cast(case((is_of_kind, Follow.key)), BigInteger)
    since = case((moment > Follow.created_at, moment), else_=Follow.created_at)
    watched = select(key.label("key"), since.label("since")).outerjoin(Reader, Reader.account_id == Follow.account_id)
    return watched.where(Follow.account_id == account, is_of_kind)
