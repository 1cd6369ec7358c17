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
    Setting(
        "modhub_moderation.new_days",
        whole,
        "0",
        "days during which an account is new, so that the three settings below apply too; 0: none is",
    ),
    Setting("modhub_moderation.new_quota_mods", whole, "0", "as quota_mods, for new accounts; the lower one counts"),
    Setting(
        "modhub_moderation.new_quota_megabytes",
        whole,
        "0",
        "as quota_megabytes, for new accounts; the lower one counts",
    ),
    Setting(
        "modhub_moderation.new_quota_uploads", whole, "0", "as quota_uploads, for new accounts; the lower one counts"
    ),
)
