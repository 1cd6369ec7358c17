"""The words for grounds, decisions and their parts, as pages and emails show them; all are msgids."""

from typing import Any, Final

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.plugins.moderation import IModeration
from modhub_moderation.cases.models import (
    AppealOutcome,
    Basis,
    Case,
    Decision,
    DecisionKind,
    Ground,
    Origin,
)

GROUNDS: Final = {
    Ground.MALWARE: N_("Malware"),
    Ground.ILLEGAL: N_("Illegal content"),
    Ground.STOLEN: N_("Somebody else's work"),
    Ground.DECEPTIVE: N_("Deception or spam"),
    Ground.BROKEN: N_("Does not work"),
    Ground.OTHER: N_("Something else"),
}
BASES: Final = {Basis.LAW: N_("The law"), Basis.TERMS: N_("Our terms")}
ORIGINS: Final = {Origin.NOTICE: N_("Notice"), Origin.OWN: N_("Own initiative")}
DECISION_KINDS: Final = {
    DecisionKind.HIDE: N_("Hide the mod"),
    DecisionKind.REMOVE: N_("Remove one part"),
    DecisionKind.BLOCK: N_("Block the account"),
    DecisionKind.DELETE: N_("Delete the mod"),
    DecisionKind.DISMISS: N_("Dismiss: nothing is done"),
    DecisionKind.RELEASE: N_("Undo: show it again"),
    DecisionKind.UNBLOCK: N_("Unblock the account"),
}
"""What a moderator chooses."""
WHAT_WAS_DONE: Final = {
    DecisionKind.HIDE: N_("The mod is hidden: only its owner sees it."),
    DecisionKind.REMOVE: N_("One part was removed: %(part)s."),
    DecisionKind.BLOCK: N_("The account is blocked: nobody can sign in to it."),
    DecisionKind.DELETE: N_("The mod was deleted."),
    DecisionKind.DISMISS: N_("Nothing was done."),
    DecisionKind.RELEASE: N_("What was decided before is undone."),
    DecisionKind.UNBLOCK: N_("The account is no longer blocked."),
}
"""What was done."""
BLOCKED_WITH_MODS: Final = N_("The account is blocked: nobody can sign in to it. Its mods are hidden.")
ONE_PART: Final = N_("a part")
OUTCOMES: Final = {
    AppealOutcome.UPHELD: N_("The decision stands."),
    AppealOutcome.REVERSED: N_("The decision is undone."),
}


def say_done(registry: Any, messages: Any, decision: Decision) -> str:
    """What was done, in a sentence."""
    kind = DecisionKind(decision.kind)
    if kind is DecisionKind.BLOCK and decision.hides_mods:
        return str(messages.gettext(BLOCKED_WITH_MODS))
    if kind is DecisionKind.REMOVE:
        part = find_service(registry, IModeration).parts.get(decision.part)
        return str(
            messages.gettext(WHAT_WAS_DONE[kind], part=messages.gettext(ONE_PART if part is None else part.title))
        )
    return str(messages.gettext(WHAT_WAS_DONE[kind]))


def say_subject(messages: Any, case: Case, title: str) -> str:
    """What the case is about; ``title`` as it may be shown there, empty if it is not known any more."""
    if not title:
        known = N_("Mod %(number)s") if case.is_of_mod else N_("Account %(number)s")
        return str(messages.gettext(known, number=case.subject_id))
    if case.is_of_mod:
        return str(messages.gettext(N_("The mod “%(title)s” (number %(number)s)"), title=title, number=case.subject_id))
    return str(messages.gettext(N_("The account “%(name)s” (number %(number)s)"), name=title, number=case.subject_id))
