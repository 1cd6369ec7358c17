"""The form of a report, which needs neither script nor account, and the page of a receipt."""

from typing import Any, Final

from modhub.base.errors import ApiError, not_found
from modhub.content.text import N_
from modhub.ui.forms import set_error_status
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import OPEN, page
from modhub_auth.pages.form_pages import form_value, never_store
from modhub_moderation.cases.models import CASE_TEXT, REPORTER_NAME
from modhub_moderation.notices import reporting
from modhub_moderation.notices.content import ReportRefused, SentReport, check_report
from modhub_moderation.notices.grounds import GROUND_TITLES
from modhub_moderation.notices.interfaces import IReceipt, IReports
from modhub_moderation.notices.receipts import is_decided
from modhub_moderation.notices.resources import ReceiptResource, ReportsResource
from modhub_moderation.notices.services import create_notice
from modhub_moderation.notices.subjects import ReportedImage, Subject, list_images

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


def _form(request: Request, subject: Subject, images: list[ReportedImage], *refused: ApiError) -> dict[str, Any]:
    never_store(request)
    errors = [_error_of(request, error) for error in refused]
    chosen = form_value(request, "assetId") if request.POST else query(request, "asset") or ""
    return {
        "subject": subject,
        "address": PageHelpers(request).absolute(subject.address),
        "images": images,
        "chosen": chosen,
        "grounds": {ground.value: title for ground, title in GROUND_TITLES.items()},
        "labels": LABELS,
        "is_stranger": reporting.reporter_by_session(request) is None,
        "values": {name: form_value(request, name) for name in LABELS},
        "errors": errors,
        "error_of": {field: sentence for field, sentence, _ in errors},
        "most_text": CASE_TEXT,
        "most_name": REPORTER_NAME,
    }


@page(context=IReports, request_method="GET", permission=OPEN, renderer=REPORT_TEMPLATE)
def report_page(context: ReportsResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}/reports`` and ``/Modhub/by/{accountId}/reports``; ``?asset=`` chooses an image."""
    subject = context.require_subject()
    return _form(request, subject, list(list_images(request, subject)))


@page(
    context=IReports,
    request_method="POST",
    permission=OPEN,
    renderer=REPORT_TEMPLATE,
    preserve_fields=LABELS,
)
def report_submit(context: ReportsResource, request: Request) -> Any:
    """Send the report, and show its receipt."""
    subject = context.require_subject()
    images, account_id = list(list_images(request, subject)), reporting.reporter_by_session(request)
    sent = SentReport(
        form_value(request, "ground"),
        form_value(request, "text"),
        bool(form_value(request, "goodFaith")),
        form_value(request, "name"),
        form_value(request, "email"),
        _asset_id(form_value(request, "assetId")),
    )
    try:
        report = check_report(sent, account_id, [image.id for image in images])
        reporting.count_notice(request, account_id)
    except ReportRefused as refused:
        set_error_status(request, refused.errors[0])
        return _form(request, subject, images, *refused.errors)
    except ApiError as limited:
        set_error_status(request, limited)
        return _form(request, subject, images, limited)
    receipt = create_notice(request.registry, request.dbsession, subject, report, reporting.language_of(request))
    return Redirect(f"/Modhub/notices/{receipt}?done=sent")


def _asset_id(value: str) -> int | None:
    """The number in the field, 0 for what is none, so that it is refused; None for nothing: the mod itself."""
    return (parse_id(value) or 0) if value else None


@page(context=IReceipt, request_method="GET", permission=OPEN, renderer=RECEIPT_TEMPLATE)
def receipt_page(context: ReceiptResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/notices/{receipt}``: open or decided, and no more (C-NTC-3)."""
    decided = is_decided(request.dbsession, context.__name__)
    if decided is None:
        raise not_found()
    never_store(request)
    # The address is a secret.
    request.response.headers["Referrer-Policy"] = "no-referrer"
    return {"decided": decided, "is_new": query(request, "done") == "sent"}
