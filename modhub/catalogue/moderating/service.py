"""What moderators decide about mods: the service :class:`modhub.plugins.moderation.IModeration`."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from pyramid.config import Configurator
from sqlalchemy import null, select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.service_registry import find_service
from modhub.blobs.models import StoredBlob
from modhub.catalogue.models import Asset, AssetKind, KeptFile, Note, ReservedVersion
from modhub.catalogue.moderating import hiding
from modhub.catalogue.moderating.evidence import keep_as_evidence
from modhub.catalogue.moderating.reads import FileDigests
from modhub.catalogue.owning.services import erase_mods
from modhub.catalogue.pages.workshop_details import ModPreviews
from modhub.db import bulk
from modhub.plugins.declarations import Declarations, RemovablePart
from modhub.plugins.moderation import FileRecord, IModeration


class Moderation:
    """See :class:`modhub.plugins.moderation.IModeration`."""

    def __init__(self, declared: Declarations) -> None:
        self.parts: Mapping[str, RemovablePart] = declared.removable_parts
        """What can be removed, by name."""
        self.files = FileDigests(declared.blob_names)
        self.previews = ModPreviews()

    def lock(self, session: Session, mod_ids: Collection[int]) -> list[int]:
        """Lock them and return the ids of those that exist."""
        return list(hiding.lock_mods(session, mod_ids))

    def hide(self, session: Session, mod_ids: Collection[int], reason: str, at: datetime | None = None) -> list[int]:
        """Hide them and return the ids of those that were not hidden."""
        mods = hiding.lock_mods(session, mod_ids)
        return [mod.id for mod in hiding.hide_mods(session, list(mods.values()), reason, at)]

    def release(
        self, session: Session, mod_ids: Collection[int], since: Collection[datetime] | None = None
    ) -> list[int]:
        """Undo that and return the ids of those that were hidden."""
        mods = hiding.lock_mods(session, mod_ids).values()
        hidden = [mod for mod in mods if since is None or mod.hidden_at in since]
        return [mod.id for mod in hiding.restore_mods(session, hidden)]

    def delete(self, session: Session, mod_ids: Collection[int], keep_until: datetime | None = None) -> list[int]:
        """Delete them and return the ids of those that existed."""
        mods = hiding.lock_mods(session, mod_ids)
        for mod in mods.values():
            record(session, "mod deleted by a moderator", "mod", mod.id, guid=mod.guid, owner=mod.owner)
        if keep_until is None:
            erase_mods(session, mods)
        else:
            keep_as_evidence(session, mods.values(), keep_until)
        return list(mods)

    def get_files(self, session: Session, mod_ids: Collection[int]) -> dict[int, list[FileRecord]]:
        """Four statements for five hundred mods."""
        files: dict[int, list[FileRecord]] = {mod_id: [] for mod_id in mod_ids}
        for batch in bulk.batches(files):
            for file in _stored_files(session, batch) + _changelog_files(session, batch):
                files[file.mod_id].append(file)
        return files


def _stored_files(session: Session, mod_ids: Collection[int]) -> list[FileRecord]:
    records: list[FileRecord] = []
    holders: tuple[tuple[Any, Any, Any], ...] = ((Asset, Asset.id, Asset.id), (KeptFile, null(), KeptFile.blob_id))
    for holder, asset_id, order in holders:
        columns = (holder.mod_id, holder.kind, holder.name, StoredBlob.size, StoredBlob.sha256, asset_id)
        files = select(*columns).join(holder.blob).where(holder.mod_id.in_(mod_ids)).order_by(order)
        for mod_id, kind, name, size, sha256, number in session.execute(files):
            records.append(FileRecord(mod_id, kind, name, "", size, sha256, number))
    return records


def _changelog_files(session: Session, mod_ids: Collection[int]) -> list[FileRecord]:
    records: list[FileRecord] = []
    holders: tuple[tuple[Any, Any], ...] = ((Note, Note.id.desc()), (ReservedVersion, ReservedVersion.version))
    for holder, order in holders:
        columns = (holder.mod_id, holder.version, holder.size, holder.sha256)
        versions = select(*columns).where(holder.mod_id.in_(mod_ids)).order_by(order)
        for mod_id, version, size, sha256 in session.execute(versions):
            records.append(FileRecord(mod_id, AssetKind.CODE.value, "", version, size, sha256, None))
    return records


def includeme(config: Configurator) -> None:
    """Register the service, and the parts of a mod."""
    config.add_service(IModeration, Moderation(find_service(config.registry, Declarations)))
    config.include("modhub.catalogue.moderating.parts")
    config.include("modhub.catalogue.moderating.evidence")
