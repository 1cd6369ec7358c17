"""Evidence: what a mod was that a moderator deleted, kept aside for a while, and the end of what is kept aside."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from pyramid.config import Configurator
from sqlalchemy import and_, delete, exists, or_, select, update
from sqlalchemy.orm import Session, selectinload

from modhub.base.service_registry import find_service
from modhub.blobs.models import trash_blob
from modhub.catalogue.models import Asset, Evidence, KeptFile, Mod, Note, ReservedVersion
from modhub.catalogue.response_schemas import mod_document, note_document
from modhub.db import Databases, bulk, now
from modhub.web.payload import encode

EVIDENCE_SECONDS: Final = 3600.0
"""How often old evidence is deleted."""
_HAS_NO_MOD: Final = and_(KeptFile.kept_until.is_(None), ~exists().where(Mod.id == KeptFile.mod_id))
_RESERVED_WITHOUT_MOD: Final = ~exists().where(Mod.id == ReservedVersion.mod_id)


def keep_evidence(session: Session, mod_ids: Sequence[int], until: datetime) -> None:
    """Keep what these mods are, whose rows are locked and which are about to be deleted, with all of their files."""
    load = select(Mod).where(Mod.id.in_(mod_ids)).options(selectinload(Mod.assets).joinedload(Asset.blob))
    notes: dict[int, list[Any]] = {mod_id: [] for mod_id in mod_ids}
    for note in session.scalars(select(Note).where(Note.mod_id.in_(mod_ids)).order_by(Note.id.desc())):
        notes[note.mod_id].append({"version": note.version, "sha256": note.sha256, "entry": note_document(note)})
    kept = update(KeptFile).where(KeptFile.mod_id.in_(mod_ids)).values(kept_until=until)
    bulk.execute_bulk(session, kept)
    for mod in session.scalars(load.execution_options(populate_existing=True)):
        document = encode({"owner": mod.owner, "mod": mod_document(mod), "changelog": notes[mod.id]})
        moments = {"deleted_at": now(), "kept_until": until}
        session.add(Evidence(mod_id=mod.id, guid=mod.guid, owner=mod.owner, document=document, **moments))
        session.add_all(
            KeptFile(
                blob_id=asset.blob_id,
                mod_id=mod.id,
                kind=asset.kind,
                name=asset.name,
                content_type=asset.content_type,
                kept_until=until,
            )
            for asset in mod.assets
        )
    session.flush()


def delete_old_evidence(session: Session) -> int:
    """Delete evidence whose time is over, and what is kept of mods that code of the previous version deleted.

    Returns the number of files.
    """
    is_over = or_(KeptFile.kept_until <= now(), _HAS_NO_MOD)
    files = session.scalars(select(KeptFile.blob_id).where(is_over).order_by(KeptFile.blob_id)).all()
    for batch in bulk.batches(files):
        trash_blob(session, batch)
        bulk.execute_bulk(session, delete(KeptFile).where(KeptFile.blob_id.in_(batch)))
    bulk.execute_bulk(session, delete(Evidence).where(Evidence.kept_until <= now()))
    bulk.execute_bulk(session, delete(ReservedVersion).where(_RESERVED_WITHOUT_MOD))
    return len(files)


def kept_file_damage(session: Session) -> Iterator[str]:
    """Yield a sentence for each file that is kept of a mod that is gone; for ``modhub-admin verify``."""
    for blob_id, mod_id in session.execute(select(KeptFile.blob_id, KeptFile.mod_id).where(_HAS_NO_MOD)):
        yield f"File {blob_id} is kept aside for mod {mod_id}, which does not exist; a worker deletes it."


def run_evidence_worker(registry: Any) -> None:
    """The worker that deletes old evidence."""
    with find_service(registry, Databases).write_session.begin() as session:
        delete_old_evidence(session)


def includeme(config: Configurator) -> None:
    """Register the worker and the check."""
    config.add_worker("old evidence", run_evidence_worker, EVIDENCE_SECONDS, alone=True)
    config.add_check("kept files", lambda _registry, session: kept_file_damage(session), when=("verify",))
