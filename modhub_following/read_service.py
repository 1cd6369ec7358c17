"""What following asks on every page and for every private feed: one prepared statement each."""

from collections.abc import Collection
from typing import Any, Final

from sqlalchemy import BigInteger, bindparam, case, cast, select

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
        watch = ChangeWatch(*(_watched(kind, account) for kind in (TargetKind.MOD, TargetKind.AUTHOR, TargetKind.GAME)))
        self._unread = PreparedQuery(cards.count_changed(watch, account, UNREAD_MOST + 1))
        self._changed = PreparedQuery(cards.find_changed(watch, account, reader.dialect))
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

    def account_of_feed(self, secret: str) -> int | None:
        """Whose private feed has this secret in its address; None for any other, and while the account is blocked."""
        if len(secret) > _SECRET_MOST:
            return None
        rows = self._reader.rows(self._feed_owner, digest=feed_digest(secret))
        return rows[0][0] if rows else None


def _watched(kind: TargetKind, account: Any) -> Any:
    """(key, moment) of what the account follows of this kind: unread is what changed after both moments."""
    is_of_kind = Follow.kind == kind.value
    # Whatever the order of a plan: a name of a game is never cast.
    key = Follow.key if kind is TargetKind.GAME else cast(case((is_of_kind, Follow.key)), BigInteger)
    since = case((Reader.seen_at > Follow.created_at, Reader.seen_at), else_=Follow.created_at)
    watched = select(key.label("key"), since.label("since")).outerjoin(Reader, Reader.account_id == Follow.account_id)
    return watched.where(Follow.account_id == account, is_of_kind)
