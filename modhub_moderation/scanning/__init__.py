"""Scanning of uploads for malware, by what ``modhub_moderation.scanner`` names; without it nothing is registered."""

from typing import Final

from pyramid.config import Configurator

from modhub.base.operations import Refusal
from modhub.plugins.commands import AdminCommand
from modhub.plugins.events import AccountDeleted, ModChanged, ModPublishing, ModsDeleted, UploadStarted
from modhub_moderation.scanning import inspection, pages, services
from modhub_moderation.scanning.clamd import open_clamd
from modhub_moderation.scanning.inspection import (
    SCAN_SECONDS,
    SCANNER_ASK_SECONDS,
    Scanning,
    ask_scanner,
    inspect_upload,
    scan_waiting_files,
)

UPLOADS: Final = ("upload_code", "upload_css", "upload_image")
_REJECTED: Final = Refusal(400, "rejected_by_scan", "The malware scanner has found something in the file.")
_NOT_SCANNED: Final = Refusal(409, "not_scanned", "A file of the mod waits for the malware scanner. Try again later.")
_FOUND_LATER: Final = Refusal(409, "rejected_by_scan", "The scanner has found something in a file since.")
FILE_SECONDS: Final = 60.0
"""What the scan of one file may take; after that the scanner counts as down."""


def _scan_uploads(config: Configurator) -> None:
    """Register what needs a scanner."""
    settings = config.registry.settings
    scanner = open_clamd(settings["modhub_moderation.scanner"], FILE_SECONDS)
    config.add_service(Scanning, Scanning(scanner, later=settings["modhub_moderation.scan_later"]))
    config.add_subscriber(inspect_upload, UploadStarted)
    config.add_subscriber(services.refuse_unscanned, ModPublishing)
    for operation_id in UPLOADS:
        config.add_refusals(operation_id, _REJECTED)
    config.add_refusals("publish_mod", _NOT_SCANNED, _FOUND_LATER)
    config.add_subscriber(inspection.keep_unscanned_from_public, ModChanged)
    config.add_panel("mine", "scanning", pages.waiting_panel)
    config.add_worker("later scans", scan_waiting_files, SCAN_SECONDS, long=True, alone=True)
    config.add_worker("scanner", ask_scanner, SCANNER_ASK_SECONDS)
    seconds = pages.SCANNER_CHECK_SECONDS
    config.add_check("scanner", pages.find_scanner_problems, when=("doctor",), seconds=seconds)


def includeme(config: Configurator) -> None:
    """Register this part of moderation."""
    config.add_subscriber(services.forget_scans_of_mods, ModsDeleted)
    config.add_subscriber(services.forget_uploader, AccountDeleted)
    config.scan("modhub_moderation.scanning.pages")
    config.add_command(
        AdminCommand(
            "scan",
            "what the malware scanner found",
            pages.scan_arguments,
            pages.run_scan,
            examples="scan list\nscan list --json",
        )
    )
    if config.registry.settings["modhub_moderation.scanner"]:
        _scan_uploads(config)
