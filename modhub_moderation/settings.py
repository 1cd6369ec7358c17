"""The settings of moderation; 0 is no limit."""

from typing import Final

from modhub.base.settings import Setting, boolean, positive, text, whole

NEEDS_FACTOR: Final = "modhub_moderation.second_factor"
EVIDENCE_DAYS: Final = "modhub_moderation.evidence_days"
MODERATION_SETTINGS: Final = (
    Setting(NEEDS_FACTOR, boolean, "true", "whether moderators need an authenticator to be named and to decide"),
    Setting(
        EVIDENCE_DAYS,
        whole,
        "180",
        "days that a mod deleted by a moderator is kept, seen by nobody; 0: none",
    ),
    Setting(
        "modhub_moderation.keep_days",
        positive,
        "180",
        "days after the end of a case until what its reporters wrote, who they are, and the title in it, are erased",
    ),
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
    Setting(
        "modhub_moderation.quota_mods", whole, "0", "mods that an account may have, drafts included; 0: any number"
    ),
    Setting(
        "modhub_moderation.quota_megabytes",
        whole,
        "0",
        "MB (of 1024 × 1024 bytes) that the files of an account's mods may take up; 0: any number",
    ),
    Setting(
        "modhub_moderation.quota_uploads",
        whole,
        "0",
        "files that an account may upload to its mods within an hour; 0: any number",
    ),
    Setting("modhub_moderation.new_days", whole, "0", "days during which an account is new; 0: none is"),
    Setting("modhub_moderation.new_mods", whole, "0", "mods that a new account may make within a day; 0: any number"),
)
