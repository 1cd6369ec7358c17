"""Scanning: what an upload goes through, what is scanned later, and what of mods and accounts concerns it."""

import logging
from functools import partial
from threading import BoundedSemaphore, Lock
from typing import Any, Final

from prometheus_client import Gauge
from pyramid.location import lineage
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.errors import ApiError, busy
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.blobs import Blob, BlobStore
from modhub.blobs.models import StoredBlob
from modhub.content.limits import KB
from modhub.content.text import N_
from modhub.db import Databases
from modhub.plugins.events import ModChanged, UploadStarted
from modhub.plugins.resources import IMod, IOwnMod
from modhub.plugins.services import IMods
from modhub.plugins.workers import RoundFailed, time_is_up
from modhub_moderation.scanning import services
from modhub_moderation.scanning.clamd import Clamd, ClamdScan, ScannerDown
from modhub_moderation.scanning.services import ScannedUpload

DOWN: Final = Gauge("modhub_scanner_down", "1 if the malware scanner did not answer the last time.")
MOST_AT_ONCE: Final = 32
"""Scans of uploads at once in a process: a scanner that hangs must leave threads for those who sign in."""

log = logging.getLogger(__name__)


class Scanning:
    """The service of scanning; there is none without the setting ``modhub_moderation.scanner``."""

    def __init__(self, scanner: Clamd, *, later: bool) -> None:
        self.scanner = scanner
        self.later = later
        """Whether files of drafts are accepted while the scanner is down."""
        self.slots = BoundedSemaphore(MOST_AT_ONCE)
        self._is_down = False
        self._lock = Lock()

    def note_up(self) -> None:
        """The scanner has answered."""
        if self._turn(is_down=False):
            log.info("uploads are scanned again")

    def note_down(self, error: ScannerDown) -> None:
        """The scanner has not answered; of several times in a row the first is logged."""
        if self._turn(is_down=True):
            log.warning("uploads cannot be scanned: %s", error)

    def _turn(self, *, is_down: bool) -> bool:
        with self._lock:
            has_turned = self._is_down is not is_down
            self._is_down = is_down
        DOWN.set(is_down)
        return has_turned


DOWN_SECONDS: Final = 10
REJECTED_BY_SCAN: Final = N_("The malware scanner has found something in this file, so nothing was saved.")


def rejected() -> ApiError:
    """400: the scanner has found something. By which rule is for moderators: others would learn how to avoid it."""
    return ApiError(400, "rejected_by_scan", REJECTED_BY_SCAN)


def scanner_down() -> ApiError:
    """503: nothing is accepted that could not be scanned."""
    return busy(DOWN_SECONDS)


def inspect_upload(event: UploadStarted) -> None:
    """Begin the scan of what an account uploads. What machines send, such as builds of the app, is the operator's."""
    account_id = event.request.caller.account_id
    if account_id is not None:
        event.inspections.append(UploadScan(event.request, account_id))


class UploadScan:
    """A :class:`modhub.plugins.moderation.IUploadInspection`."""

    def __init__(self, request: Any, account_id: int) -> None:
        self._request = request
        self._account_id = account_id
        self._mod_id = _mod_id_of(request.context)
        self._scanning = find_service(request.registry, Scanning)
        self._scan: ClamdScan | None = None
        self._down: ScannerDown | None = None
        self._has_slot = self._scanning.slots.acquire(blocking=False)
        try:
            self._scan = self._begin()
        except ScannerDown as error:
            self._down = error
            if not self._may_wait:
                self.close()
                raise self._refuse(error) from None

    def _begin(self) -> ClamdScan:
        if not self._has_slot:
            raise ScannerDown("too many uploads are being scanned")
        return self._scanning.scanner.begin()

    @property
    def _may_wait(self) -> bool:
        """Whether the file may be scanned later, which only files of mods may: others are visible at once."""
        return self._scanning.later and self._mod_id is not None

    def see(self, chunk: bytes) -> None:
        """Pass it on; once the scanner is down, nothing more."""
        if self._scan is not None and self._down is None:
            try:
                self._scan.send(chunk)
            except ScannerDown as error:
                self._down = error

    def finish(self, blob: Blob) -> None:
        """400 for a file in which something was found; without a verdict 503, or the file of a draft waits."""
        try:
            rule = self._read_verdict()
        except ScannerDown as error:
            refusal = self._refuse(error)
            if self._mod_id is None or not self._may_wait:
                raise refusal from None
            services.add_waiting_file(self._request.dbsession, self._mod_id, blob)
            return
        if rule is not None:
            self._scanning.note_up()
            self._tell_moderators(blob, rule)
            raise rejected()
        self._scanning.note_up()

    def close(self) -> None:
        """End the scan, and let another one begin."""
        if self._scan is not None:
            self._scan.close()
        if self._has_slot:
            self._has_slot = False
            self._scanning.slots.release()

    def _read_verdict(self) -> str | None:
        if self._down is not None or self._scan is None:
            raise self._down or ScannerDown("there was no scan")
        return self._scan.finish()

    def _refuse(self, error: ScannerDown) -> ApiError:
        self._scanning.note_down(error)
        return scanner_down()

    def _tell_moderators(self, blob: Blob, rule: str) -> None:
        """In a transaction of its own: that of the request is rolled back, and has had no statement yet."""
        upload = ScannedUpload(self._account_id, self._mod_id, blob.sha256, blob.size)
        log_event("upload_rejected_by_scan", **upload._asdict(), rule=rule)
        try:
            with self._request.databases.write_session.begin() as session:
                services.record_hit(session, upload, rule)
        except (ApiError, SQLAlchemyError):  # the refusal does not depend on it, and the log has it
            log_event("scan_hit_not_recorded", sha256=blob.sha256)


def _mod_id_of(context: Any) -> int | None:
    """The mod that the address is about, None for other files, such as the picture of a profile."""
    for resource in lineage(context):
        if IMod.providedBy(resource) or IOwnMod.providedBy(resource):
            mod_id: int | None = resource.id
            return mod_id
    return None


def keep_unscanned_from_public(event: ModChanged) -> None:
    """503 for an upload that would wait for the scanner, but belongs to a mod that everybody sees (C-SCN-4).

    The upload has locked the mod by now. A hidden mod counts, because everybody sees it once it is released.
    """
    if services.adds_waiting_file(event.session, event.mod_id):
        mod = find_service(event.registry, IMods).get_mods(event.session, [event.mod_id]).get(event.mod_id)
        if mod is not None and (mod.published or mod.hidden):
            raise scanner_down()


SCAN_SECONDS: Final = 30.0
SCANNER_ASK_SECONDS: Final = 60.0
_BATCH: Final = 100
_CHUNK: Final = 256 * KB


def ask_scanner(registry: Any) -> None:
    """Scan a few bytes, in each process: operators learn that the scanner is down before somebody uploads."""
    scanning = find_service(registry, Scanning)
    try:
        scanning.scanner.scan([b"modhub"])
    except ScannerDown as error:
        scanning.note_down(error)
    else:
        scanning.note_up()


def scan_waiting_files(registry: Any) -> None:
    """Scan the files that wait, one by one, without a transaction meanwhile, as many as there is time for."""
    databases, after, is_over = find_service(registry, Databases), "", time_is_up(registry)
    with databases.write_session.begin() as session:
        services.delete_old_hits(session)
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
            rule = scanning.scanner.scan(iter(partial(file.read, _CHUNK), b""))
    except ScannerDown as error:
        scanning.note_down(error)
        raise RoundFailed(str(error)) from None
    scanning.note_up()
    return rule
