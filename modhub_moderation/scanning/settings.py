"""The settings of scanning."""

from typing import Final

from modhub.base.settings import Setting, boolean, text

SCANNING_SETTINGS: Final = (
    Setting(
        "modhub_moderation.scanner",
        text,
        "",
        "clamd:///run/clamav/clamd.ctl or clamd://host:port: scans what accounts upload; empty: nothing is scanned",
    ),
    Setting(
        "modhub_moderation.scan_later",
        boolean,
        "false",
        "while the scanner is down, accept files of drafts and scan them later, before they can be published; else 503",
    ),
)
