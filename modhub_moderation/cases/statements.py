"""The statement of reasons for the person concerned, and what those who reported are told (C-CAS-6, C-CAS-7).

The person concerned learns the ground and the facts, never who reported nor what they wrote. Confirmed addresses get
everything, others a fixed sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.ui.i18n import Catalogs, Translations
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry, without_links
from modhub_auth.models import BY_PASSWORD, Login
from modhub_auth.signin.recovery import may_send
from modhub_auth.tokens import SecretBox
from modhub_moderation.cases.models import (
    Basis,
    Case,
    Decision,
    DecisionKind,
    Ground,
    Notice,
    Origin,
)
from modhub_moderation.cases.rulings import RESTRICTIONS
from modhub_moderation.cases.words import GROUNDS, say_done, say_subject

BETWEEN_LANGUAGES: Final = EmailEntry(lines=["* * *"])


class Letter(NamedTuple):
    """An email in one language: its subject, and its parts."""

    subject: str
    parts: Sequence[EmailEntry]


Write = Callable[[Translations], Letter]
"""Writes an email in one language."""


class Contact(NamedTuple):
    """An email address. ``confirmed``: its owner has shown that it is theirs."""

    address: str
    confirmed: bool


def contacts_of(session: Session, account_id: int) -> list[Contact]:
    """The email addresses of an account. Blocked accounts have them too."""
    rows = session.execute(select(Login.subject, Login.verified).where(Login.account_id == account_id, *BY_PASSWORD))
    return [Contact(address, verified) for address, verified in rows]


def find_reporter(session: Session, notice: Notice) -> Contact | None:
    """The address of who sent the notice; None without one, and once it was erased."""
    if notice.account_id is not None:
        return next(iter(contacts_of(session, notice.account_id)), None)
    return Contact(notice.email, confirmed=False) if notice.email else None


def queue_letter(
    session: Session, registry: Any, contact: Contact, kind: str, *, write: Write, languages: Iterable[Translations]
) -> None:
    """Queue an email in these languages, one after the other.

    To an address that nobody has confirmed only if it has not had too many lately: it counts with the emails of
    ``forgot``. What is written to such an address holds nothing that another person wrote.
    """
    auth = find_service(registry, AuthServices)
    if not contact.confirmed and not may_send(session, auth.rate_limiter, contact.address):
        return
    chosen = list(languages)
    letters = [write(messages) for messages in chosen]
    subject = " / ".join(dict.fromkeys(letter.subject for letter in letters))
    parts = [*letters[0].parts, *(part for letter in letters[1:] for part in (BETWEEN_LANGUAGES, *letter.parts))]
    email = auth.outbox.compose(chosen[0].language, subject, parts)
    auth.outbox.queue(session, kind, contact.address, email)


def queue_for_account(session: Session, registry: Any, account_id: int, kind: str, write: Write) -> None:
    """Queue an email to each address of an account: whole to the confirmed ones, a fixed one to the others.

    Nobody knows the language of an account, so the email is in all that the site has.
    """
    languages = find_service(registry, Catalogs).translations.values()
    for contact in contacts_of(session, account_id):
        chosen = write if contact.confirmed else partial(fixed_letter, registry)
        queue_letter(session, registry, contact, kind, write=chosen, languages=languages)


STATEMENT: Final = "statement"
"""The kind of emails to the person concerned."""
OUTCOME: Final = "report outcome"
"""The kind of emails to those who reported."""
OWN_DECISIONS: Final = "/Modhub/decisions"
"""The page with all decisions about a person's own mods and account."""
APPEAL_PAGE: Final = "/Modhub/appeal"
BASIS_LINES: Final = {
    Basis.LAW: N_("It is based on the law: %(clause)s"),
    Basis.TERMS: N_("It is based on our terms: %(clause)s"),
}
ORIGIN_LINES: Final = {
    Origin.NOTICE: N_("The case began with a report that we received."),
    Origin.OWN: N_("We looked into this on our own initiative."),
}
AUTOMATIC: Final = N_("The decision was made automatically.")
BY_PERSON: Final = N_("A person made the decision.")
REDRESS: Final = N_(
    "An appeal is free of charge and decided by another person where we have one. You can also turn to a certified "
    "body for out-of-court dispute settlement, or to a court."
)
REDRESS_AFTER: Final = N_("You can still turn to a certified body for out-of-court dispute settlement, or to a court.")
NOT_WHOLE: Final = N_("It could not be put back, because its place has been taken meanwhile. Please upload it again.")

OUTCOME_SUBJECT: Final = N_("We have decided about your report")
ACTED: Final = N_("Thank you for your report. We have acted on it.")
NOT_ACTED: Final = N_("Thank you for your report. We have looked at it and leave everything as it is.")
CHANGED: Final = N_("You sent us a report. What we decided about it first no longer applies.")
APPEALED: Final = N_(
    "You sent us a report. The person concerned appealed, and what we decided first no longer applies."
)
REPORTER_REDRESS: Final = N_(
    "If you disagree, you can write to the operator, turn to a certified body for out-of-court dispute settlement, or "
    "to a court."
)
REPORTED: Final = N_("What you reported, and what was decided:")


class Written(NamedTuple):
    """A decision that was written, with what those whom it concerns need to know of it."""

    case: Case
    decision: Decision
    last: Decision | None
    """The one that it replaces."""
    secret: str | None = None
    """What the link to appeal has, which is stored as a hash only."""
    is_whole: bool = True
    """Whether all that the one before did could be undone."""
    is_appeal: bool = False
    """Whether it is the outcome of an appeal."""


def tell_owner(session: Session, registry: Any, written: Written) -> None:
    """Queue the statement of reasons, or that a decision is undone. A dismissal of what was never decided is not told.

    An appeal's outcome has an email of its own.
    """
    case, decision, last = written.case, written.decision, written.last
    undoes = last is not None and last.kind in RESTRICTIONS
    is_told = decision.kind != DecisionKind.DISMISS or undoes
    if written.is_appeal or not is_told:
        return

    def write(messages: Translations) -> Letter:
        lines = list(reasons(registry, messages, case, decision, without_links(case.title)))
        if not written.is_whole:
            lines.append(messages.gettext(NOT_WHOLE))
        return Letter(_subject(messages, case), [EmailEntry(lines=lines), *_ways(registry, messages, written)])

    queue_for_account(session, registry, case.owner_id, STATEMENT, write)


def fixed_letter(registry: Any, messages: Translations) -> Letter:
    """What an address gets that its owner never confirmed: that there is something to read after signing in."""
    lines = [messages.gettext(N_("A moderator has decided about content of the account with this email address."))]
    link = registry.settings["modhub.base_url"] + OWN_DECISIONS
    return Letter(messages.gettext(N_("A decision by our moderators")), [EmailEntry(lines=lines, link=link)])


def _subject(messages: Translations, case: Case) -> str:
    if case.is_of_mod:
        return messages.gettext(N_("A decision about your mod"))
    return messages.gettext(N_("A decision about your account"))


def reasons(registry: Any, messages: Translations, case: Case, decision: Decision, title: str) -> Iterator[str]:
    """What article 17 wants said: what, for how long, why, on what ground, how it began, and whether a person decided.

    ``title`` is that of the case as it may be shown there.
    """
    yield say_subject(messages, case, title)
    yield say_done(registry, messages, decision)
    if decision.until is not None:
        yield messages.gettext(N_("It ends by itself on %(date)s."), date=messages.date(decision.until.date()))
    if decision.kind in RESTRICTIONS:
        yield messages.gettext(N_("Ground: %(ground)s"), ground=messages.gettext(GROUNDS[Ground(decision.ground)]))
    if decision.basis is not None:
        yield messages.gettext(BASIS_LINES[Basis(decision.basis)], clause=decision.clause)
    yield messages.gettext(N_("The facts:"))
    yield from messages.gettext(decision.facts).splitlines()
    yield messages.gettext(ORIGIN_LINES[Origin(decision.origin)])
    yield messages.gettext(AUTOMATIC if decision.automatic else BY_PERSON)


def _ways(registry: Any, messages: Translations, written: Written) -> Iterator[EmailEntry]:
    """What the person concerned can do now."""
    base, until = registry.settings["modhub.base_url"], written.decision.appeal_until
    if written.secret is None or until is None:
        return
    line = messages.gettext(N_("You can appeal once, until %(date)s:"), date=messages.date(until.date()))
    yield EmailEntry(lines=[line], link=f"{base}{APPEAL_PAGE}?token={written.secret}")
    yield EmailEntry(lines=[messages.gettext(REDRESS)])


def tell_reporters(session: Session, registry: Any, written: Written) -> None:
    """Queue what became of their notices to all who reported and whose data are not erased, each person once."""
    catalogs, told = find_service(registry, Catalogs), set[str]()
    notices = select(Notice).where(Notice.case_id == written.case.id, Notice.erased_at.is_(None)).order_by(Notice.id)
    for notice in session.scalars(notices):
        contact = find_reporter(session, notice)
        if contact is not None and contact.address not in told:
            told.add(contact.address)
            write = partial(_outcome, registry, written, notice, whole=contact.confirmed)
            languages = [catalogs.choose(notice.locale)]
            queue_letter(session, registry, contact, OUTCOME, write=write, languages=languages)


def _outcome(registry: Any, written: Written, notice: Notice, messages: Translations, *, whole: bool) -> Letter:
    """The verdict, all about the decision if the email is to be ``whole``, and the link to the receipt."""
    case, decision, lines = written.case, written.decision, [messages.gettext(_verdict(written))]
    if whole:
        lines = [
            say_subject(messages, case, without_links(case.title)),
            *lines,
            say_done(registry, messages, decision),
            messages.gettext(N_("The facts:")),
            *messages.gettext(decision.facts).splitlines(),
            messages.gettext(AUTOMATIC if decision.automatic else BY_PERSON),
        ]
    parts = [EmailEntry(lines=lines)]
    receipt = notice.receipt and receipt_box(registry).decrypt(notice.receipt, notice.receipt_hash)
    if receipt:
        parts.append(EmailEntry(lines=[messages.gettext(REPORTED)], link=receipt_link(registry, receipt)))
    return Letter(messages.gettext(OUTCOME_SUBJECT), [*parts, EmailEntry(lines=[messages.gettext(REPORTER_REDRESS)])])


def receipt_box(registry: Any) -> SecretBox:
    """What encrypts receipts: their hashes find notices, and emails need the receipts themselves."""
    return SecretBox(registry.settings["modhub.secret"], "receipt of a notice")


def receipt_link(registry: Any, receipt: str) -> str:
    """The address of the page that says what became of a notice."""
    return f"{registry.settings['modhub.base_url']}/Modhub/notices/{receipt}"


def _verdict(written: Written) -> str:
    if written.decision.kind in RESTRICTIONS:
        return ACTED
    if written.is_appeal:
        return APPEALED
    return NOT_ACTED if written.last is None else CHANGED
