"""Changes by owners to their mods. Functions over a session, without a request.

Each takes the mod's id and the caller's account, and locks the mod's row first, so that changes to one mod are
serialised (T-E). :class:`modhub.base.errors.OwnershipLost` if the mod was deleted after the ACL check.
"""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta

from msgspec import UNSET
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, OwnershipLost, conflict
from modhub.base.service_registry import find_optional_service
from modhub.blobs.models import trash_blob
from modhub.catalogue.bodies import CleanedMod, CleanedNote, check_references
from modhub.catalogue.copies import mark_changelog_edited, mark_stale
from modhub.catalogue.models import (
    WITH_FILES,
    Asset,
    DescriptionSource,
    KeptFile,
    Mod,
    Note,
    NoteSource,
    ReservedVersion,
    Successor,
    Vote,
)
from modhub.catalogue.owning.events import (
    ask_to_store,
    notify,
    notify_changed,
)
from modhub.catalogue.owning.rehearsal import check_draft
from modhub.catalogue.owning.texts import WrittenText, keep_source
from modhub.catalogue.owning.voting import withdraw_votes
from modhub.catalogue.pictures.services import forget_pictures
from modhub.db import bulk, iso, now
from modhub.db.unit_of_work import unit_of_work
from modhub.plugins.events import ModChanged, ModPublished, ModPublishing, ModsDeleted
from modhub.plugins.security import lock_account
from modhub.plugins.services import IAccounts
from modhub.web.conditions import if_match_names

_UNIT = timedelta(microseconds=1)


def own_mod(session: Session, mod_id: int | None, owner: int) -> Mod:
    """Return the owner's mod with its assets, and lock both rows until the end of the transaction.

    403 if the account is blocked.
    """
    lock_account(session, owner)
    owned = select(Mod).where(Mod.id == mod_id, Mod.owner == owner).options(WITH_FILES)
    mod = session.scalars(owned.with_for_update()).one_or_none()
    if mod is None:
        raise OwnershipLost
    return mod


def next_update_time(session: Session, after: datetime | None = None) -> datetime:
    """Return a time of change that no other mod has: it is the rowid in the full-text index.

    Later than ``after``, even if the clock was set back.
    """
    time = now() if after is None else max(now(), after + _UNIT)
    while session.scalar(select(Mod.id).where(Mod.updated_at == time)) is not None:
        time += _UNIT
    return time


def touch_mod(session: Session, mod: Mod) -> None:
    """Update the mod's time of change (C-MOD-13)."""
    mod.updated_at = next_update_time(session, after=mod.updated_at)


def record_change(session: Session, mod: Mod, version: str = "") -> None:
    """Flush a change of the mod with a new time of change, and notify subscribers; of a new ``version`` too."""
    touch_mod(session, mod)
    session.flush()
    notify_changed(session, mod.id, version)


def create_mod(session: Session, owner: int, cleaned: CleanedMod, written: WrittenText | None = None) -> Mod:
    """Create an unpublished mod; the title is required. The lists are checked first.

    ``written``: what the description was written from.
    """
    assert cleaned.title is not None
    guid = str(uuid.uuid4())
    requires, conflicts = check_references(guid, cleaned.requires, cleaned.conflicts)
    ask_to_store(session, owner, None)
    time = next_update_time(session)
    mod = Mod(
        guid=guid,
        owner=owner,
        title=cleaned.title,
        description=cleaned.description or "",
        games=cleaned.games or [],
        requires=requires or [],
        conflicts=conflicts or [],
        created_at=time,
        updated_at=time,
        assets=[],
    )
    session.add(mod)
    session.flush()
    if written is not None:
        keep_source(session, DescriptionSource, mod.id, mod.description, written)
    record(session, "mod created", "mod", mod.id, guid=mod.guid)
    return mod


def edit_mod(
    session: Session,
    mod_id: int | None,
    owner: int,
    cleaned: CleanedMod,
    written: WrittenText | None = None,
    *,
    if_match: str = "*",
) -> Mod:
    """Change the fields that were sent; without a real change ``updated_at`` stays (C-MOD-13).

    ``written``: what the description was written from; without it, an earlier source is dropped with its description.
    ``if_match``: the quoted times of change of which the mod must have one, else 412 (C-OWN-30).
    """
    mod = own_mod(session, mod_id, owner)
    requires, conflicts = check_references(mod.guid, cleaned.requires, cleaned.conflicts, (mod.requires, mod.conflicts))
    if not if_match_names(if_match, f'"{iso(mod.updated_at)}"'):
        raise ApiError(412, "changed", "The mod has changed since you read it. Read it again.")
    values = {
        "title": cleaned.title,
        "description": cleaned.description,
        "games": cleaned.games,
        "requires": requires,
        "conflicts": conflicts,
    }
    changes = {name: value for name, value in values.items() if value is not None and value != getattr(mod, name)}
    for name, value in changes.items():
        setattr(mod, name, value)
    if written is not None or "description" in changes:
        keep_source(session, DescriptionSource, mod.id, mod.description, written)
    if changes:
        record(session, "mod edited", "mod", mod.id, fields=" ".join(changes))
        record_change(session, mod)
    return mod


def publish_mod(session: Session, mod_id: int | None, owner: int) -> Mod:
    """Publish the mod; no-op if it is already published (C-OWN-8). 409 without a code file.

    Features may refuse it for now, each with its own error.
    """
    mod = own_mod(session, mod_id, owner)
    if any(problem.is_blocking for problem in check_draft(mod)):
        raise conflict("no_code", "Upload a code file before you publish the mod.")
    if mod.published:
        return mod
    notify(session, ModPublishing, mod.id)
    mod.published = True
    record(session, "mod published", "mod", mod.id)
    touch_mod(session, mod)
    mod.published_at = mod.updated_at
    session.flush()
    notify(session, ModPublished if mod.hidden_at is None else ModChanged, mod.id)
    return mod


def delete_mod(session: Session, mod_id: int | None, owner: int) -> None:
    """Delete the mod with its changelog, votes and files (C-OWN-11)."""
    mod = own_mod(session, mod_id, owner)
    record(session, "mod deleted", "mod", mod.id, guid=mod.guid)
    erase_mods(session, [mod.id])


def erase_mods(session: Session, mod_ids: Iterable[int]) -> None:
    """Delete mods whose rows are locked, with all that belongs to them, in a few statements per batch."""
    for batch in bulk.batches(mod_ids):
        notify(session, ModsDeleted, tuple(batch))
        for holder in (Asset, KeptFile):
            trash_blob(session, select(holder.blob_id).where(holder.mod_id.in_(batch)))
        forget_pictures(session, select(Asset.id).where(Asset.mod_id.in_(batch)))
        notes = select(Note.id).where(Note.mod_id.in_(batch))
        bulk.execute_bulk(session, delete(NoteSource).where(NoteSource.note_id.in_(notes)))
        for model in (Asset, KeptFile, Note, ReservedVersion, Vote, DescriptionSource, Successor):
            bulk.execute_bulk(session, delete(model).where(model.mod_id.in_(batch)))
        bulk.execute_bulk(session, delete(Mod).where(Mod.id.in_(batch)))
        mark_stale(session, batch)


def hand_over(session: Session, mod: Mod, account_id: int) -> None:
    """Make a mod whose row is locked another account's (C-OWN-50); ``updated_at`` stays.

    The new owner has no vote on it, and what the former one has made for it alone ends.
    """
    registry = unit_of_work(session).registry
    accounts = None if registry is None else find_optional_service(registry, IAccounts)
    if accounts is not None:
        accounts.end_ownership(session, mod.id)
    withdraw_votes(session, account_id, [mod.id])
    record(session, "mod handed over", "mod", mod.id, guid=mod.guid, owner=mod.owner, to=account_id)
    mod.owner = account_id
    session.flush()
    # No field of the mod, but pages and feeds name the author.
    mark_changelog_edited(session, mod.id)
    notify_changed(session, mod.id)


def _own_note(session: Session, mod_id: int | None, note_id: int | None, owner: int) -> Note:
    own_mod(session, mod_id, owner)
    statement = select(Note).where(Note.id == note_id, Note.mod_id == mod_id).with_for_update()
    note = session.scalars(statement).one_or_none()
    if note is None:
        raise OwnershipLost
    return note


def edit_note(
    session: Session,
    mod_id: int | None,
    note_id: int | None,
    owner: int,
    cleaned: CleanedNote,
    *,
    written: WrittenText | None = None,
) -> Note:
    """Edit an entry, which is then no longer automatic (C-NOTE-3). The mod's ``updated_at`` does not change.

    ``written``: what the text was written from; without it, an earlier source is dropped with its text.
    """
    note = _own_note(session, mod_id, note_id, owner)
    if cleaned.title is not UNSET:
        note.title = cleaned.title
    if cleaned.text is not UNSET:
        if written is not None or cleaned.text != note.text:
            keep_source(session, NoteSource, note.id, cleaned.text, written)
        note.text = cleaned.text
    note.edited_at = now()
    note.automatic = False
    record(session, "changelog entry edited", "mod", note.mod_id, entry=note.id)
    session.flush()
    mark_changelog_edited(session, note.mod_id)
    notify_changed(session, note.mod_id)
    return note


def describe_version(
    session: Session,
    mod_id: int | None,
    version: str,
    owner: int,
    cleaned: CleanedNote,
    *,
    written: WrittenText | None = None,
) -> Note:
    """Edit the entry of a version in the transaction that uploads it: nobody sees the version without its text."""
    note_id = session.scalar(select(Note.id).where(Note.mod_id == mod_id, Note.version == version))
    return edit_note(session, mod_id, note_id, owner, cleaned, written=written)


def remove_note(session: Session, mod_id: int | None, note_id: int | None, owner: int) -> None:
    """Remove an entry; its version can be used again."""
    note = _own_note(session, mod_id, note_id, owner)
    keep_source(session, NoteSource, note.id, "", None)
    session.delete(note)
    record(session, "changelog entry deleted", "mod", note.mod_id, entry=note.id, version=note.version)
    session.flush()
    mark_changelog_edited(session, note.mod_id)
    notify_changed(session, note.mod_id)
