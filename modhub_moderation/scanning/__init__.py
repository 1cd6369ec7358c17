"""Scanning of uploads for malware, by what ``modhub_moderation.scanner`` names; without it nothing is registered."""

from typing import Any, Final

from pyramid.config import Configurator

from modhub.base.operations import Refusal
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.plugins.commands import AdminCommand
from modhub.plugins.events import AccountDeleted, ModChanged, ModsDeleted
from modhub_moderation.moderators import IModerationDesk
from modhub_moderation.scanning import operation, panels, services, subscribers
from modhub_moderation.scanning.clamd import open_clamd
from modhub_moderation.scanning.container import Scanning
from modhub_moderation.scanning.inspection import inspect_upload
from modhub_moderation.scanning.interfaces import ScannerFactory
from modhub_moderation.scanning.pages import ScansResource
from modhub_moderation.scanning.worker import SCAN_SECONDS, SCANNER_ASK_SECONDS, ask_scanner, scan_waiting_files

UPLOADS: Final = ("upload_code", "upload_css", "upload_image")
_REJECTED: Final = Refusal(400, "rejected_by_scan", "The malware scanner has found something in the file.")
_NOT_SCANNED: Final = Refusal(409, "not_scanned", "A file of the mod waits for the malware scanner. Try again later.")
_FOUND_LATER: Final = Refusal(409, "rejected_by_scan", "The scanner has found something in a file since.")
FILE_SECONDS: Final = 60.0
"""What the scan of one file may take; after that the scanner counts as down."""
_OPEN_LATE: Final = 1_000
"""The order of the action that opens the scanner: after those of features that add one."""


class ScannerSchemes(dict[str, ScannerFactory]):
    """The service that has the factory of a scanner by the scheme of its URL."""


def add_scanner(config: Configurator, scheme: str, factory: ScannerFactory) -> None:
    """Let ``modhub_moderation.scanner = scheme:...`` use what ``factory(url, seconds)`` returns.

    ``config.add_scanner``, after ``modhub_moderation`` is included (:mod:`modhub_moderation.scanning.interfaces`).
    """

    def register() -> None:
        find_service(config.registry, ScannerSchemes)[scheme] = factory

    config.action(("modhub scanner", scheme), register)


def _open_scanner(registry: Any, url: str) -> Scanning:
    settings, schemes = registry.settings, find_service(registry, ScannerSchemes)
    factory = schemes.get(url.partition(":")[0])
    if factory is None:
        known = ", ".join(sorted(schemes))
        raise StartRefused(f"the setting modhub_moderation.scanner must begin with one of: {known}")
    try:
        scanner = factory(url, FILE_SECONDS)
    except ValueError as error:
        raise StartRefused(str(error).rstrip(".")) from None
    return Scanning(scanner, later=settings["modhub_moderation.scan_later"])


def _scan_uploads(config: Configurator, url: str) -> None:
    """Register what needs a scanner."""
    registry = config.registry
    config.action(
        "modhub scanner",
        lambda: registry.__setitem__(Scanning, _open_scanner(registry, url)),
        order=_OPEN_LATE,
    )
    config.add_upload_inspector("scanning", inspect_upload)
    config.add_publish_check("scanning", services.refuse_unscanned)
    for operation_id in UPLOADS:
        config.add_refusals(operation_id, _REJECTED)
    config.add_refusals("publish_mod", _NOT_SCANNED, _FOUND_LATER)
    config.add_subscriber(subscribers.keep_unscanned_from_public, ModChanged)
    config.add_panel("workshop_notice", "scanning", panels.waiting_panel)
    config.add_worker("later scans", scan_waiting_files, SCAN_SECONDS, alone=True)
    config.add_worker("scanner", ask_scanner, SCANNER_ASK_SECONDS)
    seconds = operation.SCANNER_CHECK_SECONDS
    config.add_check("scanner", operation.find_scanner_problems, when=("doctor",), seconds=seconds)


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    config.add_service(ScannerSchemes, ScannerSchemes())
    config.add_directive("add_scanner", add_scanner)
    config.add_scanner("clamd", open_clamd)
    config.add_subscriber(subscribers.forget_waiting_files, ModsDeleted)
    config.add_subscriber(subscribers.forget_account_of_hits, AccountDeleted)
    config.add_child(IModerationDesk, "scans", ScansResource)
    config.scan("modhub_moderation.scanning.pages")
    config.add_command(
        AdminCommand(
            "scan",
            "what the malware scanner found",
            operation.scan_arguments,
            operation.run_scan,
            examples="scan list\nscan list --json",
        )
    )
    if url := config.registry.settings["modhub_moderation.scanner"]:
        _scan_uploads(config, url)
