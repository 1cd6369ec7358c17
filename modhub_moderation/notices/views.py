"""Where something is reported: by programs, and by a form that needs neither script nor account (C-NTC)."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, Final, Literal

from markupsafe import Markup
from msgspec import UNSET, Struct, UnsetType
from pyramid.authorization import DENY_ALL, Allow, Authenticated
from pyramid.httpexceptions import HTTPForbidden
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.errors import ApiError, not_found
from modhub.base.identity import CredentialKind, Permission
from modhub.base.operations import Operation, Refusal, about, body_over
from modhub.content.limits import KB
from modhub.content.text import N_
from modhub.plugins.resources import IResource
from modhub.plugins.services import IMods, IProfiles
from modhub.ui.forms import set_error_status
from modhub.ui.i18n import Catalogs
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query, read_json
from modhub.web.request import Request
from modhub.web.traversal import Resource, parse_id
from modhub.web.views import OPEN, api, page
from modhub_auth.container import auth_services
from modhub_auth.pages.form_pages import form_value, never_store
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.signin.authentication import presented_token
from modhub_moderation.cases.decisions import Subject
from modhub_moderation.cases.models import CASE_TEXT, REPORTER_NAME, SubjectKind
from modhub_moderation.cases.words import say_done, say_subject
from modhub_moderation.notices.services import (
    GROUND_TITLES,
    ReportRefused,
    SentReport,
    check_report,
    create_notice,
    list_images,
    read_receipt,
)


class IReports(IResource):
    """Where something is reported, in the API and on pages."""


class IModReports(IReports):
    """``/api/modhub/{id}/reports`` and ``/Modhub/{id}/reports``"""


class IAuthorReports(IReports):
    """``/api/modhub/authors/{accountId}/reports`` and ``/Modhub/by/{accountId}/reports``"""


class IReceipt(IResource):
    """``/Modhub/notices/{receipt}``"""


class NoticePermission(Permission):
    """To report as an account. Without one it needs a name and an address, and no permission."""

    REPORT = "notices:report", CredentialKind.ACCOUNT


class ReportsResource(Resource, ABC):
    """Where something is reported."""

    __acl__ = [(Allow, Authenticated, NoticePermission.REPORT), DENY_ALL]
    __parent__: Any

    @abstractmethod
    def find_subject(self, session: Session) -> Subject | None:
        """What is reported here; None if not everybody can see it."""

    def check_exists(self, session: Session) -> bool:
        """Whether it can be reported."""
        return self.find_subject(session) is not None

    def require_subject(self) -> Subject:
        """What is reported here; 404 if not everybody can see it."""
        with self.request.databases.readonly_session() as session:
            subject = self.find_subject(session)
        if subject is None:
            raise not_found()
        return subject


@implementer(IModReports)
class ModReports(ReportsResource):
    """``/api/modhub/{id}/reports`` and ``/Modhub/{id}/reports``"""

    def find_subject(self, session: Session) -> Subject | None:
        """The published mod; None for drafts, hidden and absent ones alike."""
        # The statement runs for what is no id, too, so that the time reveals nothing (T-B3).
        number = self.__parent__.id or 0
        mod = self.request.find_service(IMods).get_mods(session, [number]).get(number)
        if mod is None or not mod.published:
            return None
        return Subject(SubjectKind.MOD, mod.id, mod.owner, mod.title, mod.guid)


@implementer(IAuthorReports)
class AuthorReports(ReportsResource):
    """``/api/modhub/authors/{accountId}/reports`` and ``/Modhub/by/{accountId}/reports``"""

    def find_subject(self, session: Session) -> Subject | None:
        """The author with a page."""
        number = self.__parent__.id or 0
        profile = self.request.find_service(IProfiles).get_profiles({number}).get(number)
        mods = self.request.find_service(IMods).get_mods_of_account(session, number)
        if profile is None or not any(mod.published for mod, _ in mods):
            return None
        return Subject(SubjectKind.ACCOUNT, number, number, profile.name)


@implementer(IReceipt)
class ReceiptResource(Resource):
    """``/Modhub/notices/{receipt}``"""


class Receipts(Resource):
    """``/Modhub/notices``"""

    member = ReceiptResource


MAX_NOTICE_BODY: Final = 64 * KB
"""Bytes of a notice as JSON."""
SentText = str | None | UnsetType


class NewAuthorNotice(Struct, rename="camel", kw_only=True):
    """``POST /api/modhub/authors/{accountId}/reports``"""

    ground: Annotated[
        Literal["malware", "illegal", "stolen", "deceptive", "broken", "other"],
        about("Why it is reported", "malware"),
    ]
    text: Annotated[
        str, about(f"What is wrong, in 1 to {CASE_TEXT:,} characters of plain text", "It sends the save files away.")
    ]
    good_faith: Annotated[bool, about("That the caller believes in good faith that this is true: `true`", True)]
    name: Annotated[
        SentText,
        about(
            f"Who reports, in at most {REPORTER_NAME} characters: needed without a token, ignored with one",
            "Ada Example",
        ),
    ] = UNSET
    email: Annotated[
        SentText,
        about("Where the answer goes: needed without a token, ignored with one", "ada@example.org"),
    ] = UNSET
    locale: Annotated[SentText, about("The language of our emails; without it that of `Accept-Language`", "de")] = UNSET


class NewNotice(NewAuthorNotice, kw_only=True):
    """``POST /api/modhub/{id}/reports``"""

    asset_id: Annotated[
        int | UnsetType | None, about("The number of an image of the mod, if the report is about that", 57)
    ] = UNSET


class ReceiptDocument(Struct):
    """The answer to a notice."""

    receipt: Annotated[
        str,
        about(
            "A secret; the page `/Modhub/notices/{receipt}` says what was reported and what was decided",
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
    ]


_BAD_BODY: Final = (
    "No statement of good faith, no ground, no text or one that is too long, no name or address without a token"
)
_OF_TOKENS: Final = (
    Refusal(401, "unauthorized", "A token was sent, and it is bad."),
    Refusal(403, "account_blocked", "The operator has blocked the account."),
)
_OF_LIMITS: Final = (
    body_over(MAX_NOTICE_BODY),
    Refusal(429, "too_many_attempts", "Too many reports of this caller or account; see [rates](#rates)."),
)
REPORT_MOD: Final = Operation(
    id="report_mod",
    about="Report a published mod, or one of its images, to the moderators.",
    takes=NewNotice,
    returns=ReceiptDocument,
    status=201,
    signed_in_too=True,
    refusals=(
        Refusal(400, "invalid_input", f"{_BAD_BODY}, or an image that the mod does not have."),
        *_OF_TOKENS,
        Refusal(404, "not_found", "No such mod, or it is a draft or hidden."),
        *_OF_LIMITS,
    ),
    clauses=("C-NTC-1", "C-NTC-2", "C-NTC-3", "C-NTC-4", "C-NTC-5"),
)
REPORT_AUTHOR: Final = Operation(
    id="report_author",
    about="Report an author, who has a page because of a published mod.",
    takes=NewAuthorNotice,
    returns=ReceiptDocument,
    status=201,
    signed_in_too=True,
    refusals=(
        Refusal(400, "invalid_input", f"{_BAD_BODY}, or an `assetId`."),
        *_OF_TOKENS,
        Refusal(404, "not_found", "There is no page of this author."),
        *_OF_LIMITS,
    ),
    clauses=("C-NTC-2", "C-NTC-3", "C-NTC-4", "C-NTC-5"),
)


MOST_NOTICES = 10
"""Of one caller, and of one account, in the window of ``modhub_auth.window_seconds``."""
COUNTED_AS = "notice"
"""What the counters of callers are for, in logs and metrics."""


def reporter_by_token(context: ReportsResource, request: Request) -> int | None:
    """The account of the token; None if none was sent. The refusals of a credential for one that is bad (C-NTC-4)."""
    if not presented_token(request):
        return None
    allowed = request.has_permission(NoticePermission.REPORT, context)
    if not allowed:
        raise HTTPForbidden(result=allowed)
    account_id: int | None = request.identify(CredentialKind.ACCOUNT).account_id
    return account_id


def reporter_by_session(request: Request) -> int | None:
    """The account that is signed in on pages; None for a stranger."""
    identity = request.identify(CredentialKind.ACCOUNT)
    return None if identity.blocked else identity.account_id


def count_notice(request: Request, account_id: int | None) -> None:
    """429 once the caller, or the account, has sent as many notices as the window has room for (C-NTC-5).

    Call it before the first statement of the request's own transaction: it has one of its own.
    """
    counters = [rate_counter(COUNTED_AS, caller_of(request), MOST_NOTICES)]
    if account_id is not None:
        counters.append(rate_counter(COUNTED_AS, f"account {account_id}", MOST_NOTICES))
    auth_services(request).rate_limiter.count(counters)


def language_of(request: Request, locale: str | UnsetType | None = None) -> str:
    """The language of emails: what was asked for, else that of the request."""
    chosen = request.find_service(Catalogs).choose(locale) if isinstance(locale, str) and locale else None
    return (chosen or translations_for(request)).language


def _given(value: SentText) -> str:
    return value if isinstance(value, str) else ""


def _report(context: ReportsResource, request: Request) -> ReceiptDocument:
    account_id = reporter_by_token(context, request)
    subject = context.require_subject()
    body = read_json(request, NewNotice, MAX_NOTICE_BODY)
    asset_id = body.asset_id if isinstance(body.asset_id, int) else None
    images = () if asset_id is None else list_images(request, subject)
    sent = SentReport(body.ground, body.text, body.good_faith, _given(body.name), _given(body.email), asset_id)
    try:
        notice = check_report(sent, account_id, images)
    except ReportRefused as refused:
        raise refused.errors[0] from None
    count_notice(request, account_id)
    language = language_of(request, body.locale)
    receipt = create_notice(request.registry, request.dbsession, subject, notice, language)
    request.response.status_int = 201
    return ReceiptDocument(receipt)


@api(context=IModReports, request_method="POST", permission=OPEN, operation=REPORT_MOD)
def report_mod_view(context: ReportsResource, request: Request) -> ReceiptDocument:
    """``POST /api/modhub/{id}/reports``"""
    return _report(context, request)


@api(context=IAuthorReports, request_method="POST", permission=OPEN, operation=REPORT_AUTHOR)
def report_author_view(context: ReportsResource, request: Request) -> ReceiptDocument:
    """``POST /api/modhub/authors/{accountId}/reports``"""
    return _report(context, request)


REPORT_TEMPLATE: Final = "modhub_moderation:templates/notices/form.jinja2"
RECEIPT_TEMPLATE: Final = "modhub_moderation:templates/notices/receipt.jinja2"
LABELS: Final = {
    "ground": N_("Why do you report it?"),
    "assetId": N_("What is it about?"),
    "text": N_("What is wrong?"),
    "name": N_("Your name"),
    "email": N_("Your email address"),
    "goodFaith": N_("I believe in good faith that what I write here is true and complete."),
}
"""The labels of the fields, in their order; the names are those of the JSON."""
FIELD_SENTENCES: Final = {
    "ground": N_("Choose a reason."),
    "text": N_("Write what is wrong, in at most 2,000 characters."),
    "name": N_("Enter your name, in at most 120 characters."),
    "goodFaith": N_("Tick this box: we can only look at reports that are made in good faith."),
    "email": N_("This is not an email address."),
}
"""What an error of a field says on the page, where the sentence for programs does not fit."""


def _error_of(request: Request, error: ApiError) -> tuple[str, str, str]:
    """(field, sentence, code)"""
    messages, field = translations_for(request), str(error.values.get("field", ""))
    labels = {name: messages.gettext(label) for name, label in LABELS.items()}
    written = FIELD_SENTENCES.get(field)
    sentence = messages.gettext(written) if written else error.localized(messages.gettext, labels)
    return field, sentence, error.code


def _form(request: Request, subject: Subject, images: dict[int, str], *refused: ApiError) -> dict[str, Any]:
    never_store(request)
    errors = [_error_of(request, error) for error in refused]
    chosen = form_value(request, "assetId") if request.POST else query(request, "asset") or ""
    return {
        "subject": subject,
        "address": PageHelpers(request).absolute(subject.address),
        "images": images,
        "chosen": chosen,
        "grounds": GROUND_TITLES,
        "labels": LABELS,
        "is_stranger": reporter_by_session(request) is None,
        "values": {name: form_value(request, name) for name in LABELS},
        "errors": errors,
        "error_of": {field: sentence for field, sentence, _ in errors},
        "most_text": CASE_TEXT,
        "most_name": REPORTER_NAME,
    }


@page(
    context=IReports,
    request_method=("GET", "POST"),
    permission=OPEN,
    renderer=REPORT_TEMPLATE,
    preserve_fields=LABELS,
)
def report_page(context: ReportsResource, request: Request) -> Any:
    """``/Modhub/{id}/reports`` and ``/Modhub/by/{accountId}/reports``; ``?asset=`` chooses an image.

    ``POST`` sends the report, and leads to its receipt.
    """
    subject = context.require_subject()
    images = list_images(request, subject)
    if request.is_safe:
        return _form(request, subject, images)
    account_id = reporter_by_session(request)
    sent = SentReport(
        form_value(request, "ground"),
        form_value(request, "text"),
        bool(form_value(request, "goodFaith")),
        form_value(request, "name"),
        form_value(request, "email"),
        _asset_id(form_value(request, "assetId")),
    )
    try:
        notice = check_report(sent, account_id, images)
        count_notice(request, account_id)
    except ReportRefused as refused:
        set_error_status(request, refused.errors[0])
        return _form(request, subject, images, *refused.errors)
    except ApiError as limited:
        set_error_status(request, limited)
        return _form(request, subject, images, limited)
    receipt = create_notice(request.registry, request.dbsession, subject, notice, language_of(request))
    return Redirect(f"/Modhub/notices/{receipt}?done=sent")


def _asset_id(value: str) -> int | None:
    """The number in the field, 0 for what is none, so that it is refused; None for nothing: the mod itself."""
    return (parse_id(value) or 0) if value else None


@page(context=IReceipt, request_method="GET", permission=OPEN, renderer=RECEIPT_TEMPLATE)
def receipt_page(context: ReceiptResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/notices/{receipt}``: what was reported, and what was decided (C-NTC-3)."""
    found = read_receipt(request.dbsession, context.__name__)
    if found is None:
        raise not_found()
    never_store(request)
    # The address is a secret.
    request.response.headers["Referrer-Policy"] = "no-referrer"
    messages, (notice, case, decision) = translations_for(request), found
    return {
        "notice": notice,
        "case": case,
        "subject": say_subject(messages, case, case.title),
        "grounds": GROUND_TITLES,
        "outcome": decision and say_done(request.registry, messages, decision),
        "is_new": query(request, "done") == "sent",
    }


_REPORT_AUTHOR: Final = N_("Report this author")


class ReportForms:
    """See :class:`modhub.plugins.moderation.IReportForms`."""

    def mod_address(self, mod_id: int) -> str:
        """The form for a mod."""
        return f"/Modhub/{mod_id}/reports"


def report_author_panel(context: Any, request: Request) -> Markup | None:
    """The way to report an author, for everybody else."""
    if PageHelpers(request).account == context.id:
        return None
    link = Markup('<p class="report"><a href="/Modhub/by/{}/reports" rel="nofollow">{}</a></p>')
    return link.format(context.id, PageHelpers(request).messages.gettext(_REPORT_AUTHOR))
