"""What this feature has of an account, for the person whose account it is (C-DAT-2)."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db.bulk import batches
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.services import IMods
from modhub_profiles.models import AuthorProfile, ModLinks


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
