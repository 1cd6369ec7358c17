"""Evidence: a mod that a moderator deleted is kept for a while, seen by nobody, until `sweep` erases it.

It has no owner any more, so nothing that an account asks for finds it; `IS_THERE` leaves it out of what operators and
features ask for by its id.
"""

import argparse
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from pyramid.config import Configurator
from sqlalchemy import exists, select, update
from sqlalchemy.orm import Session, joinedload

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.catalogue.documents import mod_document, note_document
from modhub.catalogue.models import NO_OWNER, WITH_FILES, KeptFile, Mod, Note
from modhub.catalogue.moderating.hiding import hide_mods
from modhub.catalogue.owning.services import erase_mods
from modhub.catalogue.pictures.metadata import read_stored
from modhub.db import bulk, iso, now
from modhub.plugins.commands import AdminCommand, parse_count
from modhub.plugins.events import AccountDeleted
from modhub.web.payload import encode

_HAS_NO_MOD: Final = ~exists().where(Mod.id == KeptFile.mod_id)
_EXAMPLES: Final = "evidence 12 /root/mod-12   writes what mod 12 was, and its files, into a new folder"


def keep_as_evidence(session: Session, mods: Iterable[Mod], until: datetime) -> None:
    """Take mods whose rows are locked away from everybody, their owners too, and keep them until then."""
    mods = list(mods)
    hide_mods(session, mods)
    for mod in mods:
        mod.hidden_at, mod.erase_at = now(), until
        mod.former_owner, mod.owner = mod.owner, NO_OWNER
    session.flush()


def erase_old_evidence(session: Session) -> int:
    """Erase what was kept long enough; the number of mods."""
    over = select(Mod.id).where(Mod.erase_at <= now()).order_by(Mod.id).with_for_update()
    mod_ids = session.scalars(over).all()
    erase_mods(session, mod_ids)
    return len(mod_ids)


def forget_former_owner(event: AccountDeleted) -> None:
    """Evidence stays until its day, and is nobody's."""
    of_account = update(Mod).where(Mod.former_owner == event.account_id)
    bulk.execute_bulk(event.session, of_account.values(former_owner=None))


def kept_file_damage(session: Session) -> Iterator[str]:
    """Yield a sentence for each file that is kept of a mod that is gone; for ``modhub-admin verify``."""
    for blob_id, mod_id in session.execute(select(KeptFile.blob_id, KeptFile.mod_id).where(_HAS_NO_MOD)):
        yield f"File {blob_id} is kept aside for mod {mod_id}, which does not exist."


def run_evidence(admin: Any, arguments: argparse.Namespace) -> int:
    """``evidence MOD FOLDER``. Files are named by their SHA-256 and cannot be executed by their name."""
    with admin.reading() as session:
        load = select(Mod).options(WITH_FILES)
        mod = session.scalars(load.where(Mod.id == arguments.mod, Mod.erase_at.is_not(None))).one_or_none()
        if mod is None:
            raise StartRefused(f"no evidence is kept of a mod {arguments.mod}")
        kept = select(KeptFile).where(KeptFile.mod_id == mod.id).options(joinedload(KeptFile.blob))
        files = [*mod.assets, *session.scalars(kept.order_by(KeptFile.blob_id))]
        notes = session.scalars(select(Note).where(Note.mod_id == mod.id).order_by(Note.id.desc())).all()
    folder = Path(arguments.folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise StartRefused(f"the folder {folder} cannot be made: {os.strerror(error.errno or 0)}") from None
    entries = [{"version": note.version, "sha256": note.sha256, "entry": note_document(note)} for note in notes]
    names = [{"kind": file.kind, "name": file.name, "sha256": file.blob.sha256} for file in files]
    about = {"owner": mod.former_owner, "deletedAt": mod.hidden_at and iso(mod.hidden_at)}
    document = encode({**about, "mod": mod_document(mod), "changelog": entries, "files": names})
    (folder / "evidence.json").write_bytes(msgspec.json.format(document, indent=2) + b"\n")
    for file in files:
        content = read_stored(admin.store, file.blob.key, file.blob.size, file.blob.sha256)
        (folder / f"{file.blob.sha256}.bin").write_bytes(content)
    with admin.writing() as (session, _):
        record(session, "evidence exported", "mod", mod.id)
    admin.say(f"{folder} has what mod {mod.id} was, and {len(files)} files named by their SHA-256.")
    return 0


def evidence_arguments(parser: argparse.ArgumentParser) -> None:
    """The mod and the folder"""
    parser.add_argument("mod", type=parse_count, metavar="MOD", help="its number")
    parser.add_argument("folder", metavar="FOLDER", help="the folder to make")


def includeme(config: Configurator) -> None:
    """Register the subscriber, the check and the command ``evidence``."""
    config.add_subscriber(forget_former_owner, AccountDeleted)
    config.add_check("kept files", lambda _registry, session: kept_file_damage(session), when=("verify",))
    about = "write what is kept of a mod that a moderator deleted"
    config.add_command(AdminCommand("evidence", about, evidence_arguments, run_evidence, examples=_EXAMPLES))
