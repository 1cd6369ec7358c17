"""The rules of links and profiles. Functions over a session, which never commit."""

from collections.abc import Collection, Mapping
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.service_registry import find_service
from modhub.blobs import Blob
from modhub.blobs.models import create_blob_row, trash_blob
from modhub.content.text import N_
from modhub.db import now
from modhub.db.bulk import batches, upsert
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub.plugins.services import IMods
from modhub_profiles.models import AuthorProfile, KeptPicture, ModLinks


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


def _trash_picture(session: Session, profile: AuthorProfile) -> None:
    if profile.picture_id is not None:
        trash_blob(session, [profile.picture_id])
        profile.picture_id = profile.pictured_at = None


def _locked_row(session: Session, model: Any, **key: int) -> Any:
    """The row of this key, made if there is none; two requests of one account may ask at the same time."""
    session.execute(upsert(session, model).values(**key).on_conflict_do_nothing())
    return session.scalars(select(model).filter_by(**key).with_for_update()).one()


def _set(row: Any, values: Mapping[str, str]) -> bool:
    """Whether that changes the row."""
    changed = {name: value for name, value in values.items() if getattr(row, name) != value}
    for name, value in changed.items():
        setattr(row, name, value)
    return bool(changed)


def collect_profile(registry: Any, session: Session, account_id: int) -> AccountData | None:
    """The author's sentence, links and picture, and the links of their mods."""
    profile = session.get(AuthorProfile, account_id)
    mods = [mod.id for mod, _ in find_service(registry, IMods).get_mods_of_account(session, account_id)]
    stored = select(*ModLinks.__table__.columns)
    links = [
        document
        for batch in batches(mods)
        for document in row_documents(session, stored.where(ModLinks.mod_id.in_(batch)))
    ]
    if profile is None:
        return AccountData({"modLinks": links}) if links else None
    document = {"sentence": profile.sentence, "links": profile.links.split(), "modLinks": links}
    files = {} if profile.picture_id is None else {"profile/picture.jpg": profile.picture_id}
    return AccountData(document, files)


def remove_profile(session: Session, account_id: int, _key: str) -> dict[str, Any] | None:
    """Take the sentence, the links and the picture away. The picture is kept aside as long as the account exists."""
    profile = session.get(AuthorProfile, account_id, with_for_update=True)
    if profile is None or not (profile.sentence or profile.links or profile.picture_id):
        return None
    kept = {"sentence": profile.sentence, "links": profile.links, "pictureId": profile.picture_id}
    if profile.picture_id is not None and profile.pictured_at is not None:
        picture = {"blob_id": profile.picture_id, "pictured_at": profile.pictured_at}
        session.add(KeptPicture(account_id=account_id, **picture))
    session.delete(profile)
    record(session, "profile removed by a moderator", "account", account_id)
    session.flush()
    return kept


def restore_profile(session: Session, account_id: int, _key: str, kept: Mapping[str, Any]) -> bool:
    """Put back what the author has not written again since; False if nothing of it comes back."""
    profile = session.get(AuthorProfile, account_id, with_for_update=True)
    if profile is None:
        profile = AuthorProfile(account_id=account_id, sentence="", links="")
        session.add(profile)
    is_restored = False
    for name in ("sentence", "links"):
        if kept[name] and not getattr(profile, name):
            setattr(profile, name, kept[name])
            is_restored = True
    picture = None if kept["pictureId"] is None else session.get(KeptPicture, kept["pictureId"], with_for_update=True)
    if picture is not None and picture.account_id == account_id and profile.picture_id is None:
        profile.picture_id, profile.pictured_at = picture.blob_id, picture.pictured_at
        session.delete(picture)
        is_restored = True
    if is_restored:
        record(session, "profile restored by a moderator", "account", account_id)
    session.flush()
    return is_restored


def discard_profile(session: Session, account_id: int, _key: str, kept: Mapping[str, Any]) -> None:
    """Delete the picture that is kept aside."""
    picture = None if kept["pictureId"] is None else session.get(KeptPicture, kept["pictureId"], with_for_update=True)
    if picture is not None and picture.account_id == account_id:
        trash_blob(session, [picture.blob_id])
        session.delete(picture)
        session.flush()


def includeme(config: Configurator) -> None:
    """Declare the part."""
    title = N_("What the author says about themselves")
    config.add_removable_part(
        "author_profile", title, remove_profile, restore_profile, discard=discard_profile, target="account"
    )


def delete_links_of_mods(event: ModsDeleted) -> None:
    """Delete the links of the mods."""
    event.session.execute(delete(ModLinks).where(ModLinks.mod_id.in_(event.mod_ids)))


def delete_profile_of_account(event: AccountDeleted) -> None:
    """Delete the profile and trash its pictures."""
    session, account_id = event.session, event.account_id
    for picture in session.scalars(select(KeptPicture).where(KeptPicture.account_id == account_id)):
        trash_blob(session, [picture.blob_id])
        session.delete(picture)
    session.flush()
    clear_profile(session, account_id)
