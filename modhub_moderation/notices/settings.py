"""The settings of notices."""

from typing import Final

from modhub.base.settings import Setting, boolean, positive

NOTICE_SETTINGS: Final = (
    Setting(
        "modhub_moderation.keep_days",
        positive,
        "180",
        "days after the end of a case until what its reporters wrote, who they are, and the title in it, are erased",
    ),
    Setting(
        "modhub_moderation.quarantine",
        boolean,
        "false",
        "whether malware notices of trusted reporters hide a mod until a moderator decides: of two of them, or of one "
        "within 24 hours of the mod's first publication",
    ),
)
