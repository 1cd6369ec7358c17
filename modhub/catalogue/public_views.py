"""Public API views: they use no credentials and read only the public copies."""

from collections.abc import Collection
from typing import Any

from pyramid.response import Response

from modhub.base.errors import not_found
from modhub.base.identity import CredentialKind
from modhub.catalogue import public_operations, voting
from modhub.catalogue.download_events import notify_download
from modhub.catalogue.file_resources import FileResource, GameIconResource, PictureResource
from modhub.catalogue.read_service import CatalogueReader, ListParams, ModFile
from modhub.catalogue.resources import ModChild, ModResource, VotesResource
from modhub.catalogue.response_schemas import CaptionsDocument, GamesDocument, VotesDocument
from modhub.content import limits, text
from modhub.plugins.declarations import API_SORTS
from modhub.plugins.resources import IAsset, ICatalogue, IGameIcon, IMod, INotes, IPicture, IVotes
from modhub.web.downloads import file_response
from modhub.web.payload import encode, query
from modhub.web.request import Request
from modhub.web.responses import composed_json, public_json
from modhub.web.views import OPEN, api, page

_DIGITS = 9


def catalogue_reader(request: Request) -> CatalogueReader:
    """Return the reader of public mods."""
    return request.find_service(CatalogueReader)


def list_params(request: Request, sorts: Collection[str] = API_SORTS) -> ListParams:
    """Parse the list parameters; invalid values become defaults, never an error (C-LIST-2)."""
    sort = query(request, "sort") or "new"
    return ListParams(
        q=_line(query(request, "q"), limits.QUERY),
        game=_line(query(request, "game"), limits.GAME),
        sort=sort if sort in sorts else "new",
        page=_number(query(request, "page"), 1, 10**_DIGITS),
        size=_number(query(request, "size"), limits.PAGE_SIZE, limits.PAGE_SIZE_MOST),
    )


def _line(value: str | None, limit: int) -> str:
    return text.line(value, limit) if value else ""


def _number(value: str | None, default: int, maximum: int) -> int:
    """Parse a whole number and clamp it to 1..``maximum``; the default if it is not a number."""
    digits = (value or "").removeprefix("-")
    negative = digits != (value or "")
    if not (digits.isascii() and digits.isdigit()):
        return default
    if negative:
        return 1
    digits = digits.lstrip("0")
    return maximum if len(digits) > _DIGITS else min(max(int(digits or "0"), 1), maximum)


def _is_by_time(request: Request) -> bool:
    """Whether a list is the same until a mod changes: votes change the order of the best."""
    return query(request, "sort") != "top"


@api(
    context=ICatalogue,
    request_method="GET",
    permission=OPEN,
    response_cache=_is_by_time,
    operation=public_operations.LIST_MODS,
)
def list_mods_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub``"""
    return public_json(catalogue_reader(request).find(list_params(request)).body())


@api(context=IMod, request_method="GET", permission=OPEN, response_cache=True, operation=public_operations.READ_MOD)
def read_mod_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}``"""
    response = composed_json(request, lambda: catalogue_reader(request).mod(context.id))
    if response is None:
        raise not_found()
    return response


@api(context=INotes, request_method="GET", permission=OPEN, operation=public_operations.READ_CHANGELOG)
def read_notes_view(context: ModChild, request: Request) -> Response:
    """``GET /api/modhub/{id}/changelog``"""
    response = composed_json(request, lambda: catalogue_reader(request).changelog(context.mod.id))
    if response is None:
        raise not_found()
    return response


@api(context=IMod, name="captions", request_method="GET", permission=OPEN, operation=public_operations.READ_CAPTIONS)
def read_captions_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/captions``"""
    captions = catalogue_reader(request).captions(context.id)
    if captions is None:
        raise not_found()
    return public_json(encode(CaptionsDocument(len(captions), captions)))


@api(context=IMod, name="superseded", request_method="GET", permission=OPEN, operation=public_operations.READ_SUCCESSOR)
def read_successor_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/superseded``: the published mod that supersedes this one, or null."""
    superseded = catalogue_reader(request).superseded(context.id)
    if superseded is None:
        raise not_found()
    return public_json(encode(superseded))


@api(
    context=ICatalogue,
    name="games",
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=public_operations.LIST_GAMES,
)
def list_games_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/games``"""
    games = catalogue_reader(request).games()
    return public_json(encode(GamesDocument(len(games), games)))


@api(context=IMod, name="download", request_method="GET", permission=OPEN, operation=public_operations.DOWNLOAD_MOD)
def download_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/download``"""
    return _mod_file(request, catalogue_reader(request).code(context.id))


@page(context=IAsset, request_method="GET", permission=OPEN, operation=public_operations.READ_FILE)
def read_file_view(context: FileResource, request: Request) -> Response:
    """``GET /Modhub/file/{assetId}``"""
    return _mod_file(request, catalogue_reader(request).asset(context.id))


@page(context=IPicture, request_method="GET", permission=OPEN)
def read_picture_view(context: PictureResource, request: Request) -> Response:
    """``GET /Modhub/picture/{assetId}/{name}``"""
    return _file(request, catalogue_reader(request).picture(context.asset_id, context.name))


@page(context=IGameIcon, request_method="GET", permission=OPEN)
def read_icon_view(context: GameIconResource, request: Request) -> Response:
    """``GET /Modhub/game-icon/{iconId}``"""
    return _file(request, catalogue_reader(request).icon(context.id))


def _mod_file(request: Request, mod_file: ModFile | None) -> Response:
    if mod_file is None:
        raise not_found()
    response = file_response(request, request.store, mod_file.file)
    notify_download(request, mod_file, response)
    return response


def _file(request: Request, file: Any) -> Response:
    if file is None:
        raise not_found()
    return file_response(request, request.store, file)


@api(context=IVotes, request_method="GET", permission=OPEN, operation=public_operations.READ_VOTES)
def read_votes_view(context: VotesResource, request: Request) -> VotesDocument:
    """``GET /api/modhub/{id}/vote``: the only public read that uses a bearer token (C-OWN-12)."""
    votes = catalogue_reader(request).votes(context.mod.id)
    if votes is None:
        raise not_found()
    identity = request.identify(CredentialKind.ACCOUNT)
    if identity.account_id is None or identity.key_scope is not None:
        return VotesDocument(*votes)
    return VotesDocument(*votes, voting.vote_of(request.dbsession, context.mod.id, identity.account_id))
