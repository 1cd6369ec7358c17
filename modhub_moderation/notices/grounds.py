"""What the grounds are called, and how much a notice with each weighs."""

from collections.abc import Iterable
from typing import Final

from modhub.content.text import N_
from modhub_moderation.cases.models import Ground

GROUND_TITLES: Final = {
    Ground.MALWARE: N_("It is malware: it harms a computer or steals data"),
    Ground.ILLEGAL: N_("It is against the law"),
    Ground.STOLEN: N_("It is someone else's work, used without permission"),
    Ground.DECEPTIVE: N_("It deceives: it is not what it says, or pretends to be from someone else"),
    Ground.BROKEN: N_("It does not work, or damages a game"),
    Ground.OTHER: N_("Something else"),
}
"""What reporters choose from, in this order."""

_WEIGHTS: Final = {
    Ground.MALWARE: 500,
    Ground.ILLEGAL: 400,
    Ground.STOLEN: 300,
    Ground.DECEPTIVE: 200,
    Ground.OTHER: 100,
    Ground.BROKEN: 0,
}
_MOST_COUNTED: Final = 99


def weigh(grounds: Iterable[str]) -> int:
    """How urgent a case with these notices is: by the gravest ground, then by how many they are."""
    known = [Ground(ground) for ground in grounds]
    return max((_WEIGHTS[ground] for ground in known), default=0) + min(len(known), _MOST_COUNTED)
