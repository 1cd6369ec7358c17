"""The tags of an account's mods, for the person whose account it is (C-DAT-2)."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.db.bulk import batches
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.services import IMods
from modhub_tags.models import ModTag


def collect_tags(registry: Any, session: Session, account_id: int) -> AccountData | None:
    """The tags that the account gave its mods."""
    mods = [mod.id for mod, _ in find_service(registry, IMods).get_mods_of_account(session, account_id)]
    tags = select(ModTag.mod_id, ModTag.tag).order_by(ModTag.mod_id, ModTag.tag)
    documents = [
        document for batch in batches(mods) for document in row_documents(session, tags.where(ModTag.mod_id.in_(batch)))
    ]
    return AccountData(documents) if documents else None
