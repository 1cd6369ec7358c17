"""Notices: what can be reported, the rules of a report, and what becomes of it until it is erased (C-NTC)."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeVar

import msgspec
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from modhub.base.errors import ApiError, OwnershipLost, invalid, not_found
from modhub.base.service_registry import find_service
from modhub.content import text
from modhub.content.text import N_
from modhub.db import Databases, bulk, now
from modhub.plugins.events import AccountDeleted
from modhub.plugins.services import IAccounts, IMods, IPublicMods
from modhub.plugins.workers import raise_if_stopping
from modhub.ui.i18n import Catalogs, Translations
from modhub.web.request import Request
from modhub_auth.email_addresses import require_address
from modhub_auth.mail.outbox import EmailEntry, without_links
from modhub_auth.tokens import new_refresh_token, token_digest
from modhub_moderation.cases.decisions import Subject, open_case
from modhub_moderation.cases.models import CASE_TEXT, REPORTER_NAME, Case, Decision, Ground, Notice, Origin, SubjectKind
from modhub_moderation.cases.statements import Letter, find_reporter, queue_letter, receipt_box, receipt_link

_NO_ID: Final = 0
"""In place of what is no id: the statement runs for it, too, so that the time reveals nothing (T-B3)."""


def list_images(request: Request, subject: Subject) -> dict[int, str]:
    """The names of the images that a report of the mod can name, in their order; an author has none."""
    documents = request.find_service(IPublicMods).get_documents([subject.guid]) if subject.guid else {}
    files = [file for encoded in documents.values() for file in msgspec.json.decode(encoded)["assets"]]
    return {int(file["url"].rpartition("/")[2]): file["name"] for file in files if file["kind"] == "image"}


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


_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class SentReport:
    """A report as it was sent; what was left out is empty or None."""

    ground: str
    text: str
    good_faith: bool
    name: str = ""
    email: str = ""
    asset_id: int | None = None


class ReportRefused(Exception):
    """What is wrong with a report: one error for each field."""

    def __init__(self, errors: list[ApiError]) -> None:
        super().__init__(errors)
        self.errors = errors


def check_report(sent: SentReport, account_id: int | None, images: Collection[int]) -> Notice:
    """The notice of a report that keeps all rules, of an account, or of a stranger by name and address.

    :class:`ReportRefused` if it breaks one (C-NTC-2). ``images``: those that it may name.
    """
    errors = list[ApiError]()

    def checked(check: Callable[[], _Value], otherwise: _Value) -> _Value:
        try:
            return check()
        except ApiError as error:
            errors.append(error)
            return otherwise

    ground = checked(lambda: _ground(sent.ground), Ground.OTHER)
    asset_id = checked(lambda: _image(sent.asset_id, images), None)
    body = checked(lambda: _filled("text", text.block(sent.text, CASE_TEXT + 1), CASE_TEXT), "")
    name, email = None, None
    if account_id is None:
        name = checked(lambda: _filled("name", text.line(sent.name, REPORTER_NAME + 1), REPORTER_NAME), "")
        email = checked(lambda: require_address(sent.email), "")
    if not sent.good_faith:
        message = "The field %(field)s must be true: report only what you believe in good faith to be so."
        errors.append(invalid(message, field="goodFaith"))
    if errors:
        raise ReportRefused(errors)
    return Notice(ground=ground, text=body, asset_id=asset_id, account_id=account_id, name=name, email=email)


def _ground(value: str) -> Ground:
    if value not in set(Ground):
        raise invalid("The field %(field)s must name one of the grounds.", field="ground")
    return Ground(value)


def _image(asset_id: int | None, images: Collection[int]) -> int | None:
    if asset_id is not None and asset_id not in images:
        raise invalid("The field %(field)s must be the number of an image of the mod.", field="assetId")
    return asset_id


def _filled(field: str, cleaned: str, most: int) -> str:
    if not cleaned:
        raise invalid("The field %(field)s must not be empty.", field=field)
    if len(cleaned) > most:
        raise invalid("The field %(field)s must have at most %(most)s characters.", field=field, most=most)
    return cleaned


def read_receipt(session: Session, receipt: str) -> Any:
    """(notice, case, last decision or None) of this receipt; None if there is no such notice."""
    rows = select(Notice, Case, Decision).join(Case, Case.id == Notice.case_id)
    rows = rows.outerjoin(Decision, Decision.case_id == Case.id).order_by(Decision.id.desc()).limit(1)
    return session.execute(rows.where(Notice.receipt_hash == token_digest(receipt))).first()


NOTICE_EMAIL: Final = "notice"
"""The kind of these emails in the outbox."""
ARRIVED: Final = N_("We have received your report")
_ABOUT: Final = N_("Your report at %(site)s about “%(title)s” has arrived.")
_GROUND: Final = N_("Your reason: %(ground)s.")
_WRITTEN_BY_STRANGER: Final = N_("Someone, probably you, sent us a report at %(site)s and gave this email address.")
_WE_LOOK: Final = N_(
    "A moderator will look at it. We will email you when it is decided, and this page will say so too:"
)
_NOT_YOU: Final = N_("If this wasn't you, ignore this email.")


def confirm_notice(registry: Any, session: Session, case: Case, notice: Notice, receipt: str) -> None:
    """Tell the reporter that the notice has arrived, unless too many emails went to an unconfirmed address lately."""
    contact, site = find_reporter(session, notice), registry.settings["modhub.site_name"]
    if contact is None:
        return

    def write(messages: Translations) -> Letter:
        if contact.confirmed:
            ground = messages.gettext(GROUND_TITLES[Ground(notice.ground)])
            about = messages.gettext(_ABOUT, site=site, title=without_links(case.title))
            lines, after = [about, messages.gettext(_GROUND, ground=ground)], []
        else:
            lines = [messages.gettext(_WRITTEN_BY_STRANGER, site=site)]
            after = [EmailEntry(lines=[messages.gettext(_NOT_YOU)])]
        entry = EmailEntry(lines=[*lines, messages.gettext(_WE_LOOK)], link=receipt_link(registry, receipt))
        return Letter(messages.gettext(ARRIVED), [entry, *after])

    languages = [find_service(registry, Catalogs).choose(notice.locale)]
    queue_letter(session, registry, contact, NOTICE_EMAIL, write=write, languages=languages)


def create_notice(registry: Any, session: Session, subject: Subject, notice: Notice, language: str) -> str:
    """Store a checked notice, confirm it by email, and return its receipt (C-NTC-1).

    404 if the subject is gone meanwhile; :class:`OwnershipLost` if the account is.
    """
    _lock_accounts(registry, session, subject, notice.account_id)
    case = open_case(session, subject, Origin.NOTICE)
    _lock_mod(registry, session, subject)
    receipt = new_refresh_token()
    notice.case_id, notice.locale, notice.created_at = case.id, language, now()
    notice.receipt_hash = token_digest(receipt)
    notice.receipt = receipt_box(registry).encrypt(receipt, notice.receipt_hash)
    session.add(notice)
    session.flush()
    case.weight = weigh(session.scalars(select(Notice.ground).where(Notice.case_id == case.id)))
    session.flush()
    confirm_notice(registry, session, case, notice, receipt)
    return receipt


def _lock_accounts(registry: Any, session: Session, subject: Subject, reporter_id: int | None) -> None:
    """Keep everybody concerned until the transaction ends, by their numbers; 404 for an author who is gone."""
    accounts = find_service(registry, IAccounts)
    account_numbers = {subject.owner_id} | ({reporter_id} if reporter_id is not None else set())
    there = {number for number in sorted(account_numbers) if accounts.lock(session, number)}
    if reporter_id is not None and reporter_id not in there:
        raise OwnershipLost
    if subject.kind is SubjectKind.ACCOUNT and subject.id not in there:
        raise not_found()


def _lock_mod(registry: Any, session: Session, subject: Subject) -> None:
    """Keep the mod until the transaction ends; 404 for one that is not public any more."""
    if subject.kind is not SubjectKind.MOD:
        return
    mods = find_service(registry, IMods)
    if not mods.lock(session, subject.id) or not mods.get_mods(session, [subject.id])[subject.id].published:
        raise not_found()


ERASED_AT_ONCE: Final = 500
"""Notices, or cases, of which something is erased in one transaction."""


def erase_old_notices(registry: Any) -> None:
    """The worker that erases what is due: text, name, address and account. Ground, subject and time are kept."""
    databases, days = find_service(registry, Databases), registry.settings["modhub_moderation.keep_days"]
    for erase in (erase_notices, erase_titles):
        count = ERASED_AT_ONCE
        while count == ERASED_AT_ONCE:
            raise_if_stopping(registry)
            with databases.write_session.begin() as session:
                count = erase(session, days)


def erase_notices(session: Session, days: int) -> int:
    """Erase at most :data:`ERASED_AT_ONCE` notices of cases that ended ``days`` days ago, and return how many."""
    ended = select(Notice.id).join(Case, Case.id == Notice.case_id)
    ended = ended.where(Notice.erased_at.is_(None), Case.ended_at <= now() - timedelta(days=days))
    ids = session.scalars(ended.order_by(Notice.id).limit(ERASED_AT_ONCE)).all()
    erased = {"text": "", "receipt": None, "name": None, "email": None, "account_id": None, "erased_at": now()}
    bulk.execute_bulk(session, update(Notice).where(Notice.id.in_(ids)).values(**erased))
    return len(ids)


def erase_titles(session: Session, days: int) -> int:
    """Erase titles and names of as many cases that ended then. Pages show the title of a mod that is still there."""
    ended = select(Case.id).where(Case.title != "", Case.ended_at <= now() - timedelta(days=days))
    # A case that is being decided is left for the next round: its row is not waited for.
    ids = session.scalars(ended.order_by(Case.id).limit(ERASED_AT_ONCE).with_for_update(skip_locked=True)).all()
    bulk.execute_bulk(session, update(Case).where(Case.id.in_(ids)).values(title=""))
    return len(ids)


def forget_reporter(event: AccountDeleted) -> None:
    """The notices of a deleted account stay until their cases have ended, and are nobody's."""
    session, account_id = event.session, event.account_id
    bulk.execute_bulk(session, update(Notice).where(Notice.account_id == account_id).values(account_id=None))
