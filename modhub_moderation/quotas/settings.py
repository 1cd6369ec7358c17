"""The settings of quotas; 0 is no limit, as shipped."""

from typing import Final

from modhub.base.settings import Setting, whole

QUOTA_SETTINGS: Final = (
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
