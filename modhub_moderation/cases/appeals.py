"""Appeals: one for each decision, within six months, decided by another moderator where there is one (C-APL-1)."""

from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import ApiError, conflict, invalid, not_found
from modhub.content import text
from modhub.content.text import N_
from modhub.db import now
from modhub.ui.i18n import Translations
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.mail.outbox import EmailEntry, without_links
from modhub_auth.signin.sessions import SESSION_IDLE
from modhub_auth.tokens import token_digest
from modhub_moderation.cases.decisions import (
    find_last_decision,
    lock_case,
    lock_subject,
    own_case,
    write_decision,
)
from modhub_moderation.cases.effects import BLOCKS, IN_FORCE
from modhub_moderation.cases.models import CASE_TEXT, Appeal, AppealOutcome, Case, Decision, DecisionKind, Ground
from modhub_moderation.cases.rulings import UNDOES, Ruling, decided_already
from modhub_moderation.cases.statements import (
    APPEAL_PAGE,
    NOT_WHOLE,
    REDRESS_AFTER,
    Letter,
    Written,
    queue_for_account,
)
from modhub_moderation.cases.words import OUTCOMES, say_subject
from modhub_moderation.moderators import count_other_moderators, require_moderator

STATEMENT_NOTE: Final = "statement for a blocked account"
"""The purpose of the note in the link of :class:`BlockedAccounts`."""


class BlockedAccounts:
    """See :class:`modhub_auth.resources.IBlockedAccounts`."""

    def find_reasons(self, request: Request, account_id: int) -> str | None:
        """The statement of the last decision that blocks the account, first of one that it has not appealed."""
        blocking = select(Decision.id).join(Case, Case.id == Decision.case_id)
        blocking = blocking.where(Case.owner_id == account_id, BLOCKS, IN_FORCE)
        blocking = blocking.outerjoin(Appeal, Appeal.decision_id == Decision.id)
        with request.databases.readonly_session() as session:
            newest = blocking.order_by(Appeal.id.is_not(None), Decision.id.desc()).limit(1)
            decision_id = session.scalar(newest)
        if decision_id is None:
            return None
        return f"{APPEAL_PAGE}?token={auth_services(request).notes.seal_note(request, STATEMENT_NOTE, decision_id)}"


def read_blocked_link(request: Request, sealed: str) -> int | None:
    """The decision of such a link; None for any other text, in another browser, and once it has expired."""
    facts = auth_services(request).notes.read_note(request, STATEMENT_NOTE, sealed, SESSION_IDLE)
    return None if facts is None else int(facts[0])


APPEAL_EMAIL: Final = "appeal outcome"
"""The kind of emails about how an appeal ended."""
CANNOT_RETURN: Final = N_("A deleted mod cannot come back. You may upload it again.")


class Standing(NamedTuple):
    """Whether a decision can be appealed, and what became of an appeal."""

    can_appeal: bool
    appeal: Appeal | None
    in_force: bool
    """Whether no other decision has replaced it."""


def find_by_secret(session: Session, secret: str) -> Decision | None:
    """The decision whose statement has the link with this secret."""
    matches = Decision.appeal_hash == token_digest(secret)
    return session.scalars(select(Decision).where(matches)).one_or_none() if secret else None


def standing_of(session: Session, decision: Decision) -> Standing:
    """What the person concerned can still do about a decision."""
    appeal = session.scalars(select(Appeal).where(Appeal.decision_id == decision.id)).one_or_none()
    last = find_last_decision(session, decision.case_id)
    in_force = last is not None and last.id == decision.id
    within = decision.appeal_until is not None and now() <= decision.appeal_until
    return Standing(in_force and within and appeal is None, appeal, in_force)


def create_appeal(session: Session, decision_id: int, words: str) -> Appeal:
    """Appeal a decision. The caller has shown that it is theirs, by their session or by the link in the statement."""
    cleaned = text.block(words, CASE_TEXT + 1)
    if not cleaned:
        raise invalid("Say why you think that the decision is wrong.")
    if len(cleaned) > CASE_TEXT:
        raise invalid("An appeal has at most %(most)s characters.", most=CASE_TEXT)
    decision = session.get(Decision, decision_id)
    case = None if decision is None else lock_case(session, decision.case_id)
    if decision is None or case is None:
        raise not_found()
    # The account may have been deleted until the case was free: nothing of its owner is stored any more.
    session.refresh(decision)
    if decision.appeal_until is not None and decision.appeal_hash is None:
        raise not_found()
    standing = standing_of(session, decision)
    if standing.appeal is not None:
        raise conflict("appealed_already", "You have appealed this decision already.")
    if not standing.in_force:
        raise conflict("replaced", "This decision no longer applies: there is a newer one.")
    if not standing.can_appeal:
        raise conflict("too_late", "The time in which this decision could be appealed has passed.")
    appeal = Appeal(decision_id=decision.id, text=cleaned, created_at=now())
    session.add(appeal)
    case.ended_at = None
    session.flush()
    record(session, "decision appealed", "case", case.id, decision=decision.id)
    return appeal


def may_decide(session: Session, registry: Any, case: Case, decision: Decision, moderator_id: int) -> ApiError | None:
    """Why this moderator may not decide the appeal; None if they may (C-APL-2)."""
    if moderator_id == case.owner_id:
        return own_case()
    concerned = {moderator_id, case.owner_id}
    if decision.moderator_id != moderator_id or not count_other_moderators(session, registry, concerned):
        return None
    return ApiError(403, "same_moderator", "You made this decision: another moderator decides the appeal.")


class Verdict(NamedTuple):
    """How an appeal ends, and why."""

    outcome: AppealOutcome
    reasons: str


def decide_appeal(session: Session, registry: Any, appeal_id: int, verdict: Verdict, moderator_id: int) -> Appeal:
    """Decide an appeal: the outcome takes effect, and all whom it concerns are told.

    Reversing writes the decision that undoes the other one. What has ended meanwhile by itself stays ended.
    """
    cleaned = text.block(verdict.reasons, CASE_TEXT + 1)
    if not cleaned or len(cleaned) > CASE_TEXT:
        raise invalid("Give reasons, with at most %(most)s characters.", most=CASE_TEXT)
    known = session.get(Appeal, appeal_id)
    decision = None if known is None else session.get(Decision, known.decision_id)
    if decision is None:
        raise not_found()
    locked = lock_subject(session, registry, decision.case_id)
    require_moderator(session, registry, moderator_id)
    case, moment = locked.case, now()
    appeal = session.get_one(Appeal, appeal_id, populate_existing=True, with_for_update=True)
    if appeal.decided_at is not None:
        raise decided_already()
    if refused := may_decide(session, registry, case, decision, moderator_id):
        raise refused
    appeal.decided_at, appeal.outcome, appeal.reasons = moment, verdict.outcome, cleaned
    appeal.moderator_id = moderator_id
    case.ended_at = moment
    session.flush()
    record(session, "appeal decided", "case", case.id, decision=decision.id, outcome=verdict.outcome)
    written = Written(case, decision, None)
    if verdict.outcome is AppealOutcome.REVERSED and locked.last is decision:
        ruling = Ruling(UNDOES[DecisionKind(decision.kind)], Ground(decision.ground), cleaned)
        written = write_decision(session, registry, locked, ruling, moderator_id, is_appeal=True)
    _tell(session, registry, appeal, decision, written)
    return appeal


def _tell(session: Session, registry: Any, appeal: Appeal, decision: Decision, written: Written) -> None:
    reversed_, case = appeal.outcome == AppealOutcome.REVERSED, written.case

    def write(messages: Translations) -> Letter:
        lines = [
            say_subject(messages, case, without_links(case.title)),
            messages.gettext(OUTCOMES[AppealOutcome.REVERSED if reversed_ else AppealOutcome.UPHELD]),
            messages.gettext(N_("The reasons:")),
            *appeal.reasons.splitlines(),
        ]
        if reversed_ and decision.kind == DecisionKind.DELETE:
            lines.append(messages.gettext(CANNOT_RETURN))
        if not written.is_whole:
            lines.append(messages.gettext(NOT_WHOLE))
        lines.append(messages.gettext(REDRESS_AFTER))
        return Letter(messages.gettext(N_("Your appeal was decided")), [EmailEntry(lines=lines)])

    queue_for_account(session, registry, case.owner_id, APPEAL_EMAIL, write)
