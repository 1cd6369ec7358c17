"""``/Modhub/{id}``: the public page of a mod.

The page says what the mod does, then what else it takes; the installation order is below the description. "Open in
the app" is ``modhub://install/{guid}`` (`modhub.install_scheme`): the GUID, because the app reads the chain itself and
may have some of it. It stands below the download, because without the app a browser does nothing with it. Where mods
are required, everything is also one archive, unless that could not be made.
"""

import re
from collections.abc import Iterable
from itertools import groupby
from typing import Any, Final

from markupsafe import Markup
from pyramid.config import Configurator
from pyramid.response import Response

from modhub.base.errors import ApiError, found, invalid, not_found
from modhub.base.identity import CredentialKind
from modhub.base.peers import peer_of_address
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.documents import NoteDocument
from modhub.catalogue.owning import voting
from modhub.catalogue.pages.browse import find_authors, page_games, page_reader, row_cards
from modhub.catalogue.pages.reader import ModPage
from modhub.catalogue.reading.chain_archives import ArchiveTurns, ChainArchive, read_archive
from modhub.catalogue.reading.views import catalogue_reader, notify_download
from modhub.catalogue.resources import ModPermission, ModResource, VotesResource
from modhub.content.outline import Outline
from modhub.content.text import N_
from modhub.plugins.moderation import IReportForms
from modhub.plugins.resources import IMod, IVotes
from modhub.plugins.security import lock_caller
from modhub.plugins.services import Profile
from modhub.ui.site_settings import contact_about
from modhub.ui.template_helpers import PageHelpers
from modhub.ui.xml_responses import Redirect
from modhub.web.downloads import REVALIDATE, content_disposition
from modhub.web.large_responses import MANY_MODS, file_body, take_large_turn
from modhub.web.payload import query_number
from modhub.web.request import Request
from modhub.web.views import OPEN, page


def fold_bare(notes: Iterable[NoteDocument]) -> tuple[tuple[NoteDocument, ...], ...]:
    """Group the entries in their order: those that stand alone, and runs of those that only name a version."""
    # A key of its own for each entry that stands alone.
    runs = groupby(notes, key=lambda note: None if note.automatic and not note.text else note.id)
    return tuple(tuple(run) for _, run in runs)


MOD_TEMPLATE: Final = "modhub.catalogue:templates/mod.jinja2"
_VALUES: Final = {"1": 1, "0": 0, "-1": -1}
_HEADING = re.compile(r"<(/?)h([234])>")


def shift_headings(cleaned: str, below: int = 2) -> Markup:
    """Shift the headings of an owner's cleaned HTML below a heading of level ``below``."""
    outline, levels = Outline(below), list[int]()

    def heading(tag: re.Match[str]) -> str:
        if not tag[1]:
            levels.append(outline.level(int(tag[2])))
            return f"<h{levels[-1]}>"
        return f"</h{levels.pop()}>"

    return Markup(_HEADING.sub(heading, cleaned))  # noqa: S704 - cleaned on write


def page_values(request: Request, shown: ModPage, author: Profile | None, preview: str = "") -> dict[str, Any]:
    """Return the values for the template of a mod's page. ``preview``: for a draft, its path in the workshop."""
    mod, notes = shown.mod, shown.notes
    reports, is_owner = find_optional_service(request.registry, IReportForms), PageHelpers(request).account == mod.owner
    report = reports.mod_address(mod.mod.id) if reports else contact_about(request.registry, mod.mod.id)
    return {
        "view": mod,
        "mod": mod.mod,
        "author": author and author.name,
        "games": page_games(request),
        "install_scheme": request.registry.settings["modhub.install_scheme"],
        "successor": shown.successor,
        "relations": shown.relations,
        "figures": shown.figures,
        "sha256": shown.sha256,
        "report": "" if preview or is_owner else report,
        "entries": fold_bare(notes.entries),
        "page": notes.page,
        "pages": notes.pages,
        "html": shift_headings,
        "mod_page": shown,
        "users": row_cards(request, shown.users),
        "others": row_cards(request, shown.others),
        "own_vote": None,
        "is_owner": is_owner,
        "preview": preview,
        "is_judged": False,
    }


@page(context=IMod, request_method="GET", permission=OPEN, renderer=MOD_TEMPLATE)
def mod_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}``; absent and unpublished mods get the same 404 (C-READ-1)."""
    shown = found(page_reader(request).detail(context.id, query_number(request, "changelog")))
    if len(shown.relations.chain) + shown.relations.chain_hidden > MANY_MODS:
        take_large_turn(request.environ)
    author = find_authors(request, [shown.mod, *shown.users]).get(shown.mod.owner)
    values = page_values(request, shown, author)
    account = request.identify(CredentialKind.ACCOUNT).account_id
    if account is not None:
        values["own_vote"] = voting.vote_of(request.dbsession, context.id, account)
    return values


@page(context=IVotes, request_method="GET", permission=ModPermission.VOTE)
def redirect_to_votes(context: VotesResource, _request: Request) -> Response:
    """``GET /Modhub/{id}/vote``: the return address after signing in to vote."""
    return Redirect(f"/Modhub/{context.mod.id}#votes")


@page(context=IVotes, request_method="POST", permission=ModPermission.VOTE, preserve_fields={"value": ""})
def vote_page(context: VotesResource, request: Request) -> Response:
    """``POST /Modhub/{id}/vote``: ``value`` is 1, -1 or, to withdraw, 0 (C-VOTE-1)."""
    value = _VALUES.get(request.POST.get("value", ""))
    if value is None:
        raise invalid("The field %(field)s must be 1, 0 or -1.", field="value")
    voting.cast_vote(request.dbsession, context.mod.id, lock_caller(request), value)
    return Redirect(f"/Modhub/{context.mod.id}#votes")


PAGE_NAME = "install"


@page(
    context=IMod,
    name=PAGE_NAME,
    request_method="GET",
    permission=OPEN,
    renderer="modhub.catalogue:templates/install.jinja2",
)
def install_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/{id}/install``; absent and unpublished mods get the same 404 (C-READ-1)."""
    shown = found(page_reader(request).detail(context.id, 1))
    return {
        "mod": shown.mod.mod,
        "size": shown.mod.size,
        "relations": shown.relations,
        "install_scheme": request.registry.settings["modhub.install_scheme"],
        "app_links": PageHelpers(request).panels("app"),
    }


ADDRESS = "everything.zip"


@page(context=IMod, name=ADDRESS, request_method="GET", permission=OPEN)
def everything_page(context: ModResource, request: Request) -> Response:
    """``GET /Modhub/{id}/everything.zip``: no ranges, because every archive has its own time of making.

    404 for absent and unpublished mods (C-READ-1); 409 if it cannot be made; 503 ``busy``.
    """
    try:
        archive = read_archive(catalogue_reader(request), context.id)
    except ApiError as error:
        # Its mods can still be downloaded one by one.
        error.back = f"/Modhub/{context.id}#install", N_("Back to the mod")
        raise
    if archive is None:
        raise not_found()
    headers = _headers(archive)
    # The outermost tween answers 304 for this tag; it must find nothing open.
    is_known = request.known_etag(archive.etag) is not None
    if request.method == "HEAD" or is_known:
        return Response(headerlist=headers, app_iter=[])
    peer = peer_of_address(request.environ.get("REMOTE_ADDR") or "")
    body = request.find_service(ArchiveTurns).open(peer, archive, request.store)
    response = Response(headerlist=headers, app_iter=file_body(request.environ, body))
    # One download: the required mods were not asked for (C-DL-1).
    notify_download(request, archive.root, response)
    return response


def _headers(archive: ChainArchive) -> list[tuple[str, str]]:
    return [
        ("Content-Type", "application/zip"),
        ("Content-Length", str(archive.size)),
        ("Content-Disposition", content_disposition(f"{archive.root.title}.zip", inline=False)),
        ("ETag", archive.etag),
        ("Cache-Control", REVALIDATE),
        ("Accept-Ranges", "none"),
    ]


def includeme(config: Configurator) -> None:
    """The view is found by the scan of the pages."""
    config.add_cross_origin(f"/Modhub/[0-9]+/{ADDRESS}")
    config.add_robots_rule(f"/Modhub/*/{ADDRESS}")
