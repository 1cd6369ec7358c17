"""The settings of cases."""

from typing import Final

from modhub.base.settings import Setting, positive, whole

EVIDENCE_DAYS: Final = "modhub_moderation.evidence_days"
APPEAL_DAYS: Final = "modhub_moderation.appeal_days"
CASE_SETTINGS: Final = (
    Setting(EVIDENCE_DAYS, whole, "180", "days that the files of a mod deleted by a moderator are kept; 0: none"),
    Setting(APPEAL_DAYS, positive, "183", "days in which a decision can be appealed; the law wants six months"),
)
