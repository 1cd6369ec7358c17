"""What following does when mods or an account are deleted, and after a restore."""

from sqlalchemy import delete, update

from modhub.base.service_registry import find_service
from modhub.db import bulk, shared_now
from modhub.plugins.events import AccountDeleted, DatabaseRestored, ModsDeleted
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST
from modhub_following.contacts import find_contact
from modhub_following.models import Follow, Frequency, Reader, TargetKind


def forget_mods(event: ModsDeleted) -> None:
    """End all follows of the mods."""
    keys = [str(mod_id) for mod_id in event.mod_ids]
    event.session.execute(delete(Follow).where(Follow.kind == TargetKind.MOD.value, Follow.key.in_(keys)))


def forget_account(event: AccountDeleted) -> None:
    """End what the account follows and who follows it, and take back a digest that has not been sent."""
    session, account_id = event.session, event.account_id
    contact = find_contact(session, account_id)
    if contact is not None:
        find_service(event.registry, AuthServices).outbox.withdraw(session, DIGEST, contact)
    of_author = Follow.kind == TargetKind.AUTHOR.value, Follow.key == str(account_id)
    session.execute(delete(Follow).where(*of_author))
    for model in (Follow, Reader):
        session.execute(delete(model).where(model.account_id == account_id))


def begin_digests(event: DatabaseRestored) -> None:
    """A digest may have been sent since the backup: what it may have said is not said again."""
    gets_digests = Reader.frequency != Frequency.NONE.value
    begun = update(Reader).where(gets_digests).values(told_until=shared_now(event.session))
    if bulk.execute_bulk(event.session, begun):
        event.notes.append("Digests begin with what is new from now on: earlier changes may have been sent already.")


def end_feeds(event: DatabaseRestored) -> None:
    """The address of a private feed may have been revoked since the backup."""
    has_feed = Reader.feed_hash.is_not(None)
    ended = bulk.execute_bulk(event.session, update(Reader).where(has_feed).values(feed_hash=None, feed_made_at=None))
    if ended:
        event.notes.append(f"All addresses of private feeds are ended ({ended}): their readers create new ones.")
