"""What this feature has of an account, for the person whose account it is (C-DAT-2)."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub_following.models import Follow, Reader

_READER = Reader.frequency, Reader.language, Reader.sent_at, Reader.told_until, Reader.seen_at, Reader.feed_made_at


def collect_following(session: Session, account_id: int) -> AccountData | None:
    """What the account follows, and its choice of emails and feed."""
    follows = select(Follow.kind, Follow.key, Follow.name, Follow.created_at).where(Follow.account_id == account_id)
    followed = row_documents(session, follows.order_by(Follow.id))
    readers = row_documents(session, select(*_READER).where(Reader.account_id == account_id))
    return AccountData({"follows": followed, "emails": readers}) if followed or readers else None
