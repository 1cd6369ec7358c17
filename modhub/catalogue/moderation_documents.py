"""Mods as JSON for the operator's programs: ``mod list --json`` and ``mod show --json``."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.catalogue.models import Mod, Note
from modhub.catalogue.moderation_queries import find_whole_mod, state_of
from modhub.catalogue.response_schemas import in_order
from modhub.db import iso


def line_document(mod: Mod) -> dict[str, Any]:
    """A mod in a list."""
    return {
        "id": mod.id,
        "guid": mod.guid,
        "title": mod.title,
        "owner": mod.owner,
        "state": state_of(mod),
        "published": mod.published,
        "hiddenAt": mod.hidden_at and iso(mod.hidden_at),
        "updatedAt": iso(mod.updated_at),
        "games": list(mod.games),
    }


def operator_document(session: Session, name: str) -> dict[str, Any] | None:
    """Everything about the mod with this id or GUID; None if there is no such mod."""
    mod = find_whole_mod(session, name)
    if mod is None:
        return None
    versions = select(Note.version).where(Note.mod_id == mod.id).order_by(Note.id.desc())
    return line_document(mod) | {
        "hiddenReason": mod.hidden_reason,
        "createdAt": iso(mod.created_at),
        "version": mod.version,
        "description": mod.description,
        "requires": list(mod.requires),
        "conflictsWith": list(mod.conflicts),
        "ups": mod.ups,
        "downs": mod.downs,
        "changelog": list(session.scalars(versions)),
        "files": [_file_document(asset) for asset in in_order(mod.assets)],
    }


def _file_document(asset: Any) -> dict[str, Any]:
    return {
        "kind": asset.kind,
        "name": asset.name,
        "bytes": asset.size,
        "contentType": asset.content_type,
        "storedAt": iso(asset.stored_at),
        "sha256": asset.blob.sha256,
        "key": asset.blob.key,
        "url": f"/Modhub/file/{asset.id}",
    }
