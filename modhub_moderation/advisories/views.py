"""Advisories for everybody: by five digits for programs, which tell nothing of what they have, and on pages."""

from typing import Annotated, Any, Final

from markupsafe import Markup
from msgspec import Struct, to_builtins
from pyramid.renderers import render
from pyramid.response import Response
from sqlalchemy import bindparam, func, select
from zope.interface import implementer

from modhub.base.errors import not_found
from modhub.base.operations import Operation, Parameter, Refusal, about
from modhub.base.service_registry import find_optional_service
from modhub.content.text import N_
from modhub.db import from_micros, iso
from modhub.db.raw_queries import PreparedQuery, RawQueryExecutor, Row
from modhub.plugins.declarations import SitemapEntries
from modhub.plugins.moderation import IModeration
from modhub.plugins.resources import IMod, IResource
from modhub.plugins.services import FeedHead, IMods, ISigner
from modhub.ui.feeds import FeedItem, feed_response
from modhub.ui.template_helpers import PageHelpers, nav_link
from modhub.web.payload import encode
from modhub.web.request import Request
from modhub.web.responses import public_json
from modhub.web.traversal import Resource
from modhub.web.views import OPEN, api, page
from modhub_moderation.advisories.models import ADVICE, ADVISORY_REASON, NEWEST_ADVISORIES, Advisory, clean_prefix
from modhub_moderation.advisories.services import find_standing

_SHA256 = "9b6f0f6c3f0e8b6f4b4f4a1d7a5c3e2f1d0c9b8a7f6e5d4c3b2a190817263544"


class AdvisoryDocument(Struct, rename="camel"):
    """What is known of one file."""

    sha256: Annotated[str, about("SHA-256 of the file, in lower case", _SHA256)]
    kind: Annotated[str, about("`malware`, `vulnerable`, `illegal` or `other`", "malware")]
    reason: Annotated[
        str, about(f"What is known; at most {ADVISORY_REASON} characters of plain text", "It sends saved passwords.")
    ]
    advice: Annotated[
        str,
        about(f"What to do; at most {ADVICE} characters of plain text", "Delete the file and change your passwords."),
    ]
    since: Annotated[str, about("When it was made", "2026-11-26T08:15:30.123456Z")]
    withdrawn_at: Annotated[
        str | None, about("When it was withdrawn; `null` while it stands. A withdrawn one is no warning", None)
    ]


class AdvisoriesDocument(Struct):
    """``GET /api/modhub/advisories/{prefix}``"""

    advisories: Annotated[list[AdvisoryDocument], about("By digest, one for each file; empty if there is none")]


class AdvisoryExport(Struct, rename="camel"):
    """``GET /api/modhub/advisories``"""

    advisories: Annotated[list[AdvisoryDocument], about("All, by digest")]
    changed_at: Annotated[
        str | None,
        about(
            "The last change of any; `null` if there is none. An older copy is out of date",
            "2026-11-26T08:15:30.123456Z",
        ),
    ]
    signature: Annotated[
        str | None,
        about(
            "Ed25519 over the other two fields as JSON (names in alphabetical order, no spaces, UTF-8 without "
            "escapes), in base64; `null` without a key. The public key is that of the snapshots",
            None,
        ),
    ]


_COLUMNS: Final = (
    Advisory.sha256,
    Advisory.kind,
    Advisory.reason,
    Advisory.advice,
    Advisory.since,
    Advisory.withdrawn_at,
)
_BY_DIGEST: Final = select(*_COLUMNS).order_by(Advisory.sha256)
_ALL: Final = PreparedQuery(_BY_DIGEST)
_WITH_PREFIX: Final = PreparedQuery(_BY_DIGEST.where(Advisory.prefix == bindparam("prefix")))
_NEWEST: Final = PreparedQuery(
    select(*_COLUMNS).order_by(Advisory.changed_at.desc(), Advisory.sha256).limit(NEWEST_ADVISORIES)
)
_COUNT: Final = PreparedQuery(select(func.count()).select_from(Advisory))
_STANDING: Final = PreparedQuery(select(Advisory.sha256).where(Advisory.withdrawn_at.is_(None)).limit(1))


def read_with_prefix(reader: RawQueryExecutor, prefix: str) -> list[AdvisoryDocument]:
    """Those of the digests that begin so, in lower case; by digest."""
    return [_document(row) for row in reader.rows(_WITH_PREFIX, prefix=prefix)]


def read_all(reader: RawQueryExecutor) -> list[AdvisoryDocument]:
    """All, by digest."""
    return [_document(row) for row in reader.rows(_ALL)]


def read_newest(reader: RawQueryExecutor) -> list[AdvisoryDocument]:
    """Those that were made or withdrawn last, newest first."""
    return [_document(row) for row in reader.rows(_NEWEST)]


def export(reader: RawQueryExecutor, signer: ISigner | None) -> bytes:
    """All as canonical JSON, with the signature of the rest (C-ADV-4)."""
    documents = read_all(reader)
    last = max((document.withdrawn_at or document.since for document in documents), default=None)
    fields = {"advisories": to_builtins(documents, order="sorted"), "changedAt": last}
    return encode({**fields, "signature": signer and signer.sign(fields)})


def _document(row: Row) -> AdvisoryDocument:
    sha256, kind, reason, advice, since, withdrawn_at = row
    withdrawn = None if withdrawn_at is None else iso(from_micros(withdrawn_at))
    return AdvisoryDocument(sha256, kind, reason, advice, iso(from_micros(since)), withdrawn)


class IAdvisories(IResource):
    """``/api/modhub/advisories``"""


class IAdvisoryPrefix(IResource):
    """``/api/modhub/advisories/{prefix}``"""


class IAdvisoriesPage(IResource):
    """``/Modhub/advisories``"""


@implementer(IAdvisoryPrefix)
class AdvisoryPrefixResource(Resource):
    """``/api/modhub/advisories/{prefix}``"""

    segment = Parameter("prefix", "The first five hexadecimal digits of the SHA-256, in any case.", example="9b6f0")


@implementer(IAdvisories)
class AdvisoriesResource(Resource):
    """``/api/modhub/advisories``: the export."""

    member = AdvisoryPrefixResource


@implementer(IAdvisoriesPage)
class AdvisoriesPageResource(Resource):
    """``/Modhub/advisories``"""


@api(
    context=IAdvisoryPrefix,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="find_advisories",
        about="What is known of files, by the first five digits of their SHA-256.",
        returns=AdvisoriesDocument,
        refusals=(Refusal(404, "not_found", "Not exactly five hexadecimal digits."),),
        clauses=("C-ADV-1", "C-ADV-2", "C-ADV-3"),
    ),
)
def find_advisories_view(context: AdvisoryPrefixResource, request: Request) -> Response:
    """``GET /api/modhub/advisories/{prefix}``"""
    prefix = clean_prefix(context.__name__)
    if prefix is None:
        raise not_found()
    return public_json(encode(AdvisoriesDocument(read_with_prefix(request.databases.raw_queries, prefix))))


@api(
    context=IAdvisories,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="export_advisories",
        about="All that is known of files, signed as the pointer to the snapshot.",
        returns=AdvisoryExport,
        clauses=("C-ADV-4",),
    ),
)
def export_advisories_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/advisories``"""
    signer = find_optional_service(request.registry, ISigner)
    return public_json(export(request.databases.raw_queries, signer))


ADVISORIES_PATH: Final = "/Modhub/advisories"
FEED_PATH: Final = f"{ADVISORIES_PATH}/feed"
JSON_FEED_PATH: Final = f"{ADVISORIES_PATH}/feed.json"
KIND_LABELS: Final = {
    "malware": N_("Malware"),
    "vulnerable": N_("Vulnerable"),
    "illegal": N_("Illegal"),
    "other": N_("Other problem"),
}


@page(
    context=IAdvisoriesPage,
    request_method="GET",
    permission=OPEN,
    renderer="modhub_moderation:templates/advisories/advisories.jinja2",
)
def advisories_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/advisories``: those that were made or withdrawn last."""
    reader = request.databases.raw_queries
    return {
        "advisories": read_newest(reader),
        "total": reader.rows(_COUNT)[0][0],
        "labels": KIND_LABELS,
        "page": ADVISORIES_PATH,
        "feed": FEED_PATH,
        "json_feed": JSON_FEED_PATH,
    }


@page(context=IAdvisoriesPage, name="feed", request_method="GET", permission=OPEN)
@page(context=IAdvisoriesPage, name="feed.json", request_method="GET", permission=OPEN)
def advisories_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/advisories/feed`` and ``feed.json``: the same as Atom and as JSON Feed."""
    head = FeedHead("Advisories about files", FEED_PATH, ADVISORIES_PATH, JSON_FEED_PATH)
    advisories = read_newest(request.databases.raw_queries)
    base = PageHelpers(request).absolute("")
    return feed_response(request, head, [_feed_item(base, advisory) for advisory in advisories])


def _feed_item(base: str, advisory: AdvisoryDocument) -> FeedItem:
    """One that is withdrawn is the same item, changed."""
    address, at = f"{base}{ADVISORIES_PATH}#file-{advisory.sha256}", advisory.withdrawn_at or advisory.since
    title = f"{KIND_LABELS[advisory.kind]}: {advisory.sha256}"
    return FeedItem(
        id=address,
        url=address,
        title=f"Withdrawn: {title}" if advisory.withdrawn_at else title,
        date_published=at,
        date_modified=at,
        content_text=f"{advisory.reason} {advisory.advice}",
    )


def advised_notice(context: Any, request: Request) -> Markup | None:
    """The warning on the page of a published mod that has a file with an advisory."""
    if not IMod.providedBy(context) or not context.id or not request.databases.raw_queries.rows(_STANDING):
        return None
    with request.databases.readonly_session() as session:
        mod = request.find_service(IMods).get_mods(session, [context.id]).get(context.id)
        if mod is None or not mod.published:
            return None
        files = request.find_service(IModeration).files.of_mods(session, [context.id])
        shown = [file for file in files if file.asset_id is not None]
        standing = find_standing(session, {file.sha256 for file in shown})
    advised = [{"name": file.name, "advisory": standing[file.sha256]} for file in shown if file.sha256 in standing]
    if not advised:
        return None
    values = {"advised": advised, "labels": KIND_LABELS, "page": ADVISORIES_PATH}
    template = "modhub_moderation:templates/advisories/notice.jinja2"
    return Markup(render(template, values, request=request))  # noqa: S704 - a template


def advisories_link(_context: Any, request: Request) -> Markup:
    """The way to the page."""
    return nav_link(request, ADVISORIES_PATH, N_("Advisories"))


def advisories_in_sitemap(_registry: Any, part: int) -> SitemapEntries:
    """The one page."""
    return [(ADVISORIES_PATH, None)] if part == 0 else []
