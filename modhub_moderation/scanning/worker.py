"""The workers: one scans what was accepted while the scanner was down, one asks whether it is down."""

from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.blobs import BlobStore
from modhub.blobs.models import StoredBlob
from modhub.content.limits import KB
from modhub.db import Databases, now
from modhub.plugins.services import IMods
from modhub.plugins.workers import RoundFailed, time_is_up
from modhub_moderation.scanning import services
from modhub_moderation.scanning.container import Scanning
from modhub_moderation.scanning.interfaces import ScannerDown
from modhub_moderation.scanning.services import ScannedUpload

SCAN_SECONDS: Final = 30.0
SCANNER_ASK_SECONDS: Final = 60.0
_BATCH: Final = 100
_CHUNK: Final = 256 * KB


def ask_scanner(registry: Any) -> None:
    """Scan a few bytes, in each process: operators learn that the scanner is down before somebody uploads."""
    scanning = find_service(registry, Scanning)
    try:
        scan = scanning.scanner.begin()
        try:
            scan.send(b"modhub")
            scan.finish()
        finally:
            scan.close()
    except ScannerDown as error:
        scanning.note_down(error)
    else:
        scanning.note_up()


def scan_waiting_files(registry: Any) -> None:
    """Scan the files that wait, one by one, without a transaction meanwhile, as many as there is time for."""
    databases, after, is_over = find_service(registry, Databases), "", time_is_up(registry)
    with databases.write_session.begin() as session:
        services.delete_old_hits(session, now())
    while True:
        with databases.readonly_session() as session:
            batch = services.find_waiting_files(session, after, _BATCH)
            rows = [(waiting.blob_key, waiting.mod_id, waiting.rule, blob) for waiting, blob in batch]
            session.expunge_all()
        if not rows:
            return
        for key, mod_id, rule, blob in rows:
            if is_over():
                return
            after = key
            if blob is None or rule is None:
                _scan_one(registry, key, mod_id, blob)


def _scan_one(registry: Any, key: str, mod_id: int, blob: StoredBlob | None) -> None:
    databases = find_service(registry, Databases)
    try:
        rule = None if blob is None else _scan_blob(registry, blob)
    except ApiError:
        return  # the store cannot read it now; its own alarms tell
    with databases.write_session.begin() as session:
        if blob is None or rule is None:
            services.end_waiting(session, key)
            return
        services.refuse_waiting(session, key, rule)
        mod = find_service(registry, IMods).get_mods(session, [mod_id]).get(mod_id)
        if mod is not None:
            services.record_hit(session, ScannedUpload(mod.owner, mod_id, blob.sha256, blob.size), rule)
    log_event("found_by_later_scan", mod_id=mod_id, sha256=blob.sha256, rule=rule)


def _scan_blob(registry: Any, blob: StoredBlob) -> str | None:
    """The rule that the file matches; the round ends if the scanner is still down."""
    scanning, store = find_service(registry, Scanning), find_service(registry, BlobStore)
    try:
        with store.open(blob.key, blob.size, blob.sha256) as file:
            scan = scanning.scanner.begin()
            try:
                while chunk := file.read(_CHUNK):
                    scan.send(chunk)
                rule = scan.finish()
            finally:
                scan.close()
    except ScannerDown as error:
        scanning.note_down(error)
        raise RoundFailed(str(error)) from None
    scanning.note_up()
    return rule
