"""Notices by programs."""

from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.views import OPEN, api
from modhub_moderation.notices import operations, reporting
from modhub_moderation.notices.content import ReportRefused, SentReport, check_report
from modhub_moderation.notices.interfaces import IAuthorReports, IModReports
from modhub_moderation.notices.resources import ReportsResource
from modhub_moderation.notices.schemas import MAX_NOTICE_BODY, NewNotice, ReceiptDocument, SentText
from modhub_moderation.notices.services import create_notice
from modhub_moderation.notices.subjects import list_images


def _given(value: SentText) -> str:
    return value if isinstance(value, str) else ""


def _report(context: ReportsResource, request: Request) -> ReceiptDocument:
    account_id = reporting.reporter_by_token(context, request)
    subject = context.require_subject()
    body = read_json(request, NewNotice, MAX_NOTICE_BODY)
    asset_id = body.asset_id if isinstance(body.asset_id, int) else None
    images = () if asset_id is None else [image.id for image in list_images(request, subject)]
    sent = SentReport(body.ground, body.text, body.good_faith, _given(body.name), _given(body.email), asset_id)
    try:
        report = check_report(sent, account_id, images)
    except ReportRefused as refused:
        raise refused.errors[0] from None
    reporting.count_notice(request, account_id)
    language = reporting.language_of(request, body.locale)
    receipt = create_notice(request.registry, request.dbsession, subject, report, language)
    request.response.status_int = 201
    return ReceiptDocument(receipt)


@api(context=IModReports, request_method="POST", permission=OPEN, operation=operations.REPORT_MOD)
def report_mod_view(context: ReportsResource, request: Request) -> ReceiptDocument:
    """``POST /api/modhub/{id}/reports``"""
    return _report(context, request)


@api(context=IAuthorReports, request_method="POST", permission=OPEN, operation=operations.REPORT_AUTHOR)
def report_author_view(context: ReportsResource, request: Request) -> ReceiptDocument:
    """``POST /api/modhub/authors/{accountId}/reports``"""
    return _report(context, request)
