"""What happens to mods when accounts are deleted, and what of them a person gets (C-DAT-2)."""

from typing import Any

from pyramid.config import Configurator
from sqlalchemy import Select, select, union_all
from sqlalchemy.orm import Session, aliased

from modhub.audit import record
from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, DescriptionSource, Mod, Note, NoteSource, Successor, Vote
from modhub.catalogue.owning.services import erase_mods
from modhub.catalogue.owning.voting import withdraw_votes
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.plugins.events import AccountDeleted

_MOD = (
    Mod.id,
    Mod.guid,
    Mod.title,
    Mod.description,
    Mod.version,
    Mod.games,
    Mod.requires,
    Mod.conflicts,
    Mod.published,
    Mod.hidden_at,
    Mod.hidden_reason,
    Mod.created_at,
    Mod.updated_at,
)
_SOURCE = DescriptionSource.text_format, DescriptionSource.source, Successor.guid.label("superseded_by")
_ENTRY = Note.id, Note.mod_id, Note.version, Note.size, Note.sha256, Note.title, Note.text, Note.created_at
_EDITED = Note.edited_at, Note.automatic, NoteSource.text_format, NoteSource.source
_FILE = Asset.id, Asset.mod_id, Asset.kind, Asset.name, Asset.content_type, Asset.stored_at, Asset.caption
_STORED = StoredBlob.id.label("blob"), StoredBlob.size, StoredBlob.sha256


def collect_mods(session: Session, account_id: int) -> AccountData | None:
    """The account's mods, drafts and hidden ones too, each with its changelog and files."""
    own = Mod.owner == account_id
    mods = row_documents(
        session,
        select(*_MOD, *_SOURCE)
        .outerjoin(DescriptionSource, DescriptionSource.mod_id == Mod.id)
        .outerjoin(Successor, Successor.mod_id == Mod.id)
        .where(own)
        .order_by(Mod.id),
    )
    entries = select(*_ENTRY, *_EDITED).join(Mod, Mod.id == Note.mod_id)
    entries = entries.outerjoin(NoteSource, NoteSource.note_id == Note.id).where(own).order_by(Note.id)
    files = select(*_FILE, *_STORED).join(Mod, Mod.id == Asset.mod_id).join(StoredBlob, StoredBlob.id == Asset.blob_id)
    changelogs, assets = _by_mod(session, entries), _by_mod(session, files.where(own).order_by(Asset.id))
    blobs: dict[str, int] = {}
    for mod in mods:
        mod["changelog"], mod["files"] = changelogs.get(mod["id"], []), assets.get(mod["id"], [])
        for file in mod["files"]:
            file["path"] = f"mods/{mod['id']}/{file['id']}-{file['name']}"
            blobs[file["path"]] = file.pop("blob")
    return AccountData(mods, blobs) if mods else None


def _by_mod(session: Session, statement: Select[*tuple[Any, ...]]) -> dict[int, list[dict[str, Any]]]:
    grouped: dict[int, list[dict[str, Any]]] = {}
    for document in row_documents(session, statement):
        grouped.setdefault(document.pop("modId"), []).append(document)
    return grouped


def collect_votes(session: Session, account_id: int) -> AccountData | None:
    """The votes that the account has cast."""
    votes = select(Vote.mod_id, Vote.value, Vote.cast_at).where(Vote.account_id == account_id)
    documents = row_documents(session, votes.order_by(Vote.mod_id))
    return AccountData(documents) if documents else None


def includeme(config: Configurator) -> None:
    """Register what collects them."""
    config.add_personal_data("mods", collect_mods)
    config.add_personal_data("votes", collect_votes)


def delete_mods_of_account(event: AccountDeleted) -> None:
    """Delete all data of the account, in the event's transaction.

    The number of statements grows per batch (`modhub.db.bulk`), not per vote or file.
    """
    session, account_id = event.session, event.account_id
    owned = aliased(Mod)
    affected = union_all(
        select(owned.id).where(owned.owner == account_id), select(Vote.mod_id).where(Vote.account_id == account_id)
    )
    # Lock all in one statement and one order, so that two concurrent deletions cannot deadlock.
    locked = select(Mod.id, Mod.owner).where(Mod.id.in_(affected)).order_by(Mod.id).with_for_update()
    rows = session.execute(locked).all()
    withdraw_votes(session, account_id, [mod_id for mod_id, owner in rows if owner != account_id])
    owned_ids = [mod_id for mod_id, owner in rows if owner == account_id]
    if owned_ids:
        record(session, "mods deleted with their account", "account", account_id, mods=" ".join(map(str, owned_ids)))
    erase_mods(session, owned_ids)
