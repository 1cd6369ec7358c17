"""The scan of an upload while it is staged, before anything of it is committed."""

from typing import Any, Final

from pyramid.location import lineage
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.errors import ApiError, busy
from modhub.base.security_log import log_event
from modhub.base.service_registry import find_service
from modhub.blobs import Blob
from modhub.content.text import N_
from modhub.plugins.events import UploadStarted
from modhub.plugins.resources import IMod, IOwnMod
from modhub_moderation.scanning import services
from modhub_moderation.scanning.container import Scanning
from modhub_moderation.scanning.interfaces import Scan, ScannerDown
from modhub_moderation.scanning.services import ScannedUpload

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
        self._scan: Scan | None = None
        self._down: ScannerDown | None = None
        self._has_slot = self._scanning.slots.acquire(blocking=False)
        try:
            self._scan = self._begin()
        except ScannerDown as error:
            self._down = error
            if not self._may_wait:
                self.close()
                raise self._refuse(error) from None

    def _begin(self) -> Scan:
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
