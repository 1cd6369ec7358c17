"""The rules of links and profiles. Functions over a session, which never commit."""

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.db import now
from modhub.plugins.services import IMods
from modhub_profiles.models import AuthorProfile, ModLinks


def change_links(session: Session, mods: IMods, mod_id: int | None, owner: int, changes: Mapping[str, str]) -> ModLinks:
    """Set some of the cleaned fields of the owner's mod, and return all of them.

    :class:`modhub.base.errors.OwnershipLost` if the mod was deleted.
    """
    links: ModLinks = _locked_row(session, ModLinks, mod_id=mods.lock_own(session, mod_id, owner).id)
    if _set(links, changes):
        record(session, "links changed", "mod", links.mod_id)
    session.flush()
    return links


def change_profile(session: Session, account_id: int, sentence: str, links: Collection[str]) -> None:
    """Set the cleaned sentence and links of an account that is locked."""
    profile: AuthorProfile = _locked_row(session, AuthorProfile, account_id=account_id)
    if _set(profile, {"sentence": sentence, "links": "\n".join(links)}):
        record(session, "profile changed", "account", account_id)
    session.flush()


def change_picture(session: Session, account_id: int, blob: Blob | None) -> None:
    """Give an account that is locked the staged picture in place of its own, or none."""
    profile: AuthorProfile = _locked_row(session, AuthorProfile, account_id=account_id)
    _trash_picture(session, profile)
    if blob is not None:
        row = create_blob_row(session, blob)
        session.flush()
        profile.picture_id, profile.pictured_at = row.id, now()
    record(session, "picture changed", "account", account_id, removed=blob is None)
    session.flush()


def clear_profile(session: Session, account_id: int) -> bool:
    """Delete all that an account says about itself; False if there was nothing."""
    profile = session.get(AuthorProfile, account_id, with_for_update=True)
    if profile is None:
        return False
    _trash_picture(session, profile)
    session.delete(profile)
    session.flush()
    return True


def delete_links(session: Session, mod_ids: Collection[int]) -> None:
    """Delete the links of these mods."""
    session.execute(delete(ModLinks).where(ModLinks.mod_id.in_(mod_ids)))


def _trash_picture(session: Session, profile: AuthorProfile) -> None:
    if profile.picture_id is not None:
        trash_blob(session, [profile.picture_id])
        profile.picture_id = profile.pictured_at = None


def _locked_row(session: Session, model: Any, **key: int) -> Any:
    """The row of this key, made if there is none; two requests of one account may ask at the same time."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    session.execute(insert(model).values(**key).on_conflict_do_nothing())
    return session.scalars(select(model).filter_by(**key).with_for_update()).one()


def _set(row: Any, values: Mapping[str, str]) -> bool:
    """Whether that changes the row."""
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)
