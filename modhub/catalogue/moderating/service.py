"""What moderators decide about mods: the service :class:`modhub.plugins.moderation.IModeration`."""

from collections.abc import Collection, Mapping
from datetime import datetime

from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.service_registry import find_service
from modhub.catalogue.models import Mod
from modhub.catalogue.moderating import hiding
from modhub.catalogue.moderating.evidence import keep_as_evidence
from modhub.catalogue.moderating.reads import FileDigests, read_files
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

    def hide_of_accounts(self, session: Session, account_ids: Collection[int], at: datetime) -> list[int]:
        """Hide them and return their ids."""
        shown = select(Mod.id).where(Mod.hidden_at.is_(None))
        batches = bulk.batches(account_ids)
        owned = [mod_id for batch in batches for mod_id in session.scalars(shown.where(Mod.owner.in_(batch)))]
        mods = hiding.lock_mods(session, owned)
        return [mod.id for mod in hiding.hide_mods(session, list(mods.values()), at=at)]

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
            for file in read_files(session, batch):
                files[file.mod_id].append(file)
        return files


def includeme(config: Configurator) -> None:
    """Register the service, and the parts of a mod."""
    config.add_service(IModeration, Moderation(find_service(config.registry, Declarations)))
    config.include("modhub.catalogue.moderating.parts")
    config.include("modhub.catalogue.moderating.evidence")
