"""What following does when mods are published, updated and deleted, when an account is deleted, and after a restore."""

from sqlalchemy import delete, func, select, update

from modhub.base.service_registry import find_service
from modhub.db import bulk, shared_now
from modhub.plugins.events import AccountDeleted, DatabaseRestored, ModChanged, ModPublished, ModsDeleted
from modhub.plugins.services import IMods
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import DIGEST
from modhub_following.contacts import find_contact
from modhub_following.models import Follow, Pending, Reader, TargetKind, UploadedVersion


def record_publishing(event: ModPublished) -> None:
    """Remember the version that the mod was published with."""
    mod = find_service(event.registry, IMods).get_mods(event.session, [event.mod_id])[event.mod_id]
    event.session.add(UploadedVersion(mod_id=mod.id, version=mod.version, at=shared_now(event.session)))
    event.session.flush()


def record_version(event: ModChanged) -> None:
    """Remember a new version."""
    if not event.version:
        return
    event.session.add(UploadedVersion(mod_id=event.mod_id, version=event.version, at=shared_now(event.session)))
    event.session.flush()


def forget_mods(event: ModsDeleted) -> None:
    """End all follows of the mods; no digest has them."""
    session, keys = event.session, [str(mod_id) for mod_id in event.mod_ids]
    session.execute(delete(Follow).where(Follow.kind == TargetKind.MOD.value, Follow.key.in_(keys)))
    for model in (UploadedVersion, Pending):
        session.execute(delete(model).where(model.mod_id.in_(event.mod_ids)))


def forget_account(event: AccountDeleted) -> None:
    """End what the account follows and who follows it, and take back a digest that has not been sent."""
    session, account_id = event.session, event.account_id
    contact = find_contact(session, account_id)
    if contact is not None:
        find_service(event.registry, AuthServices).outbox.withdraw(session, DIGEST, contact)
    of_author = Follow.kind == TargetKind.AUTHOR.value, Follow.key == str(account_id)
    session.execute(delete(Follow).where(*of_author))
    for model in (Follow, Reader, Pending):
        session.execute(delete(model).where(model.account_id == account_id))


def forget_pending(event: DatabaseRestored) -> None:
    """A digest may have been sent since the backup: what it may have said is not said again."""
    session = event.session
    count = sum(session.scalar(select(func.count()).select_from(model)) or 0 for model in (UploadedVersion, Pending))
    for model in (UploadedVersion, Pending):
        session.execute(delete(model))
    if count:
        event.notes.append("Digests begin with what is new from now on: earlier changes may have been sent already.")


def end_feeds(event: DatabaseRestored) -> None:
    """The address of a private feed may have been revoked since the backup."""
    has_feed = Reader.feed_hash.is_not(None)
    ended = bulk.execute_bulk(event.session, update(Reader).where(has_feed).values(feed_hash=None, feed_made_at=None))
    if ended:
        event.notes.append(f"All addresses of private feeds are ended ({ended}): their readers create new ones.")
