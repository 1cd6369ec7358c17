"""``modhub-admin evidence MOD FOLDER``: what is kept of a mod that a moderator deleted."""

import argparse
import os
from pathlib import Path
from typing import Any

import msgspec
from pyramid.config import Configurator
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from modhub.audit import record
from modhub.base.settings import StartRefused
from modhub.catalogue.image_metadata import read_stored
from modhub.catalogue.models import Evidence, KeptFile
from modhub.db import iso
from modhub.plugins.commands import AdminCommand, parse_count

_EXAMPLES = "evidence 12 /root/mod-12   writes what mod 12 was, and its files, into a new folder"


def run_evidence(admin: Any, arguments: argparse.Namespace) -> int:
    """Files are named by their SHA-256 and cannot be executed by their name; ``evidence.json`` has the names."""
    with admin.reading() as session:
        row = session.get(Evidence, arguments.mod)
        if row is None:
            raise StartRefused(f"no evidence is kept of a mod {arguments.mod}")
        kept = select(KeptFile).where(KeptFile.mod_id == row.mod_id).options(joinedload(KeptFile.blob))
        files = list(session.scalars(kept.order_by(KeptFile.blob_id)))
    folder = Path(arguments.folder)
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise StartRefused(f"the folder {folder} cannot be made: {os.strerror(error.errno or 0)}") from None
    names = [{"kind": file.kind, "name": file.name, "sha256": file.blob.sha256} for file in files]
    document = {**msgspec.json.decode(row.document), "deletedAt": iso(row.deleted_at), "files": names}
    (folder / "evidence.json").write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    for file in files:
        content = read_stored(admin.store, file.blob.key, file.blob.size, file.blob.sha256)
        (folder / f"{file.blob.sha256}.bin").write_bytes(content)
    with admin.writing() as (session, _):
        record(session, "evidence exported", "mod", row.mod_id)
    admin.say(f"{folder} has what mod {row.mod_id} was, and {len(files)} files named by their SHA-256.")
    return 0


def evidence_arguments(parser: argparse.ArgumentParser) -> None:
    """The mod and the folder"""
    parser.add_argument("mod", type=parse_count, metavar="MOD", help="its number")
    parser.add_argument("folder", metavar="FOLDER", help="the folder to make")


def includeme(config: Configurator) -> None:
    """The command ``evidence``."""
    about = "write what is kept of a mod that a moderator deleted"
    config.add_command(AdminCommand("evidence", about, evidence_arguments, run_evidence, examples=_EXAMPLES))
