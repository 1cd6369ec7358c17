"""What an author's page shows, as a part that moderators can remove (`RemovablePart`)."""

from collections.abc import Mapping
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.blobs.models import trash_blob
from modhub.content.text import N_
from modhub_profiles.models import AuthorProfile, KeptPicture


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


def discard_kept_pictures(session: Session, account_id: int) -> None:
    """Delete all pictures that are kept of an account; it is being deleted."""
    for picture in session.scalars(select(KeptPicture).where(KeptPicture.account_id == account_id)):
        trash_blob(session, [picture.blob_id])
        session.delete(picture)
    session.flush()


def includeme(config: Configurator) -> None:
    """Declare the part."""
    title = N_("What the author says about themselves")
    config.add_removable_part(
        "author_profile", title, remove_profile, restore_profile, discard=discard_profile, target="account"
    )
