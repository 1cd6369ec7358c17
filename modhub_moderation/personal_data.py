"""A person's own data, to take away (C-DAT): ``/Modhub/account/data``, and what moderation has of an account."""

from collections.abc import Iterator
from threading import BoundedSemaphore
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.renderers import render
from pyramid.response import Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import busy
from modhub.content.text import N_
from modhub.db.row_documents import row_documents
from modhub.plugins.declarations import AccountData
from modhub.web.downloads import content_disposition
from modhub.web.request import Request
from modhub_auth.pages.form_pages import FormPage
from modhub_auth.pages.fresh_proof import proven_account, proven_page
from modhub_auth.personal_data import personal_archive
from modhub_auth.schemas import MAX_ACCOUNT_BODY
from modhub_moderation.cases.models import Appeal, Case, Decision, DecisionKind, Notice
from modhub_moderation.quotas import CountedUpload

ARCHIVES_AT_ONCE: Final = 2
"""Archives that a process sends at once: each holds a thread until its reader has taken it."""
BUSY_SECONDS: Final = 10
_PANEL: Final = "modhub_moderation:templates/personal_data/account.jinja2"
_NOTICE = Notice.ground, Notice.text, Notice.asset_id, Notice.locale, Notice.created_at
_SUBJECT = Case.subject_kind, Case.subject_id
_DECISION = (
    Decision.id,
    Decision.kind,
    Decision.part,
    Decision.part_key,
    Decision.ground,
    Decision.basis,
    Decision.clause,
    Decision.facts,
    Decision.automatic,
    Decision.until,
    Decision.decided_at,
)
_APPEAL = Appeal.decision_id, Appeal.text, Appeal.created_at, Appeal.decided_at, Appeal.outcome, Appeal.reasons


class ArchiveTurns:
    """Which archives a process is sending."""

    def __init__(self) -> None:
        self._free = BoundedSemaphore(ARCHIVES_AT_ONCE)

    def take(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The pieces of an archive; its turn ends with them. 503 ``busy`` while too many are sent."""
        turn = self._turn(pieces)
        # Up to here before there is an answer: closing what was never begun would not end it.
        next(turn)
        return turn

    def _turn(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        if not self._free.acquire(blocking=False):
            raise busy(BUSY_SECONDS)
        try:
            yield b""
            yield from pieces
        finally:
            self._free.release()


def data_form(_context: Any, _request: Request) -> FormPage:
    """The form that asks for proof."""
    return FormPage(
        N_("Download your data"),
        N_("Download the archive"),
        [],
        lead=[
            N_(
                "You get a zip archive of everything that is stored about your account: your details, sign-ins, mods "
                "with their files, votes and what you follow. What others wrote is not in it."
            ),
        ],
        links=[("/Modhub/account", N_("Your account"))],
    )


@proven_page(data_form, name="data")
def data_page(_context: Any, request: Request) -> Response:
    """``POST /Modhub/account/data``: the archive, sent while it is made. Nothing of it is stored."""
    account, _ = proven_account(request)
    record(request.dbsession, "own data exported", "account", account.id)
    headers = [
        ("Content-Type", "application/zip"),
        ("Content-Disposition", content_disposition(f"modhub-data-{account.id}.zip", inline=False)),
        ("Cache-Control", "no-store"),
    ]
    pieces = request.find_service(ArchiveTurns).take(personal_archive(request.registry, account.id))
    return Response(headerlist=headers, app_iter=pieces)


def own_data_panel(_context: Any, request: Request) -> Markup:
    """The way to the data on the account's page."""
    return Markup(render(_PANEL, {}, request=request))  # noqa: S704 - a template


def collect_moderation(session: Session, account_id: int) -> AccountData | None:
    """The notices that the account sent, the decisions about it and its mods, and its appeals.

    Neither who reported it nor what they wrote, and not who decided.
    """
    notices = select(*_NOTICE, *_SUBJECT).join(Case, Case.id == Notice.case_id).where(Notice.account_id == account_id)
    decisions = select(*_DECISION, *_SUBJECT).join(Case, Case.id == Decision.case_id)
    appeals = select(*_APPEAL).join(Decision, Decision.id == Appeal.decision_id)
    appeals = appeals.join(Case, Case.id == Decision.case_id).where(Case.owner_id == account_id)
    # That somebody reported it and nothing was done is told to nobody but the reporter.
    about_owner = Case.owner_id == account_id, Decision.kind != DecisionKind.DISMISS
    uploads = select(CountedUpload.at).where(CountedUpload.account_id == account_id)
    document = {
        "notices": row_documents(session, notices.order_by(Notice.id)),
        "decisions": row_documents(session, decisions.where(*about_owner).order_by(Decision.id)),
        "appeals": row_documents(session, appeals.order_by(Appeal.id)),
        "countedUploads": row_documents(session, uploads.order_by(CountedUpload.id)),
    }
    return AccountData(document) if any(document.values()) else None


def includeme(config: Configurator) -> None:
    """Register the page, the way to it, and what moderation has."""
    config.add_service(ArchiveTurns, ArchiveTurns())
    # Its fresh proof is a password, which is hashed.
    config.add_body_limit("POST", "/Modhub/account/data", MAX_ACCOUNT_BODY, waits=True)
    config.add_personal_data("moderation", collect_moderation)
    config.add_panel("account", "own data", own_data_panel, order=200)
    config.scan("modhub_moderation.personal_data")
