"""The settings of cases."""

from typing import Final

from modhub.base.settings import Setting, whole

EVIDENCE_DAYS: Final = "modhub_moderation.evidence_days"
APPEAL_DAYS: Final = 183
"""In which a decision can be appealed: the law wants six months."""
CASE_SETTINGS: Final = (
    Setting(EVIDENCE_DAYS, whole, "180", "days that the files of a mod deleted by a moderator are kept; 0: none"),
)
