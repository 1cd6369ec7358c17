"""The catalogue for readers: no credential is looked at, only the public copies are read."""

from typing import Any

from pyramid.response import Response

from modhub import limits, text
from modhub.catalogue import voting
from modhub.catalogue.documents import VotesDocument
from modhub.catalogue.finding import Catalogue as Finder
from modhub.catalogue.finding import Wish
from modhub.catalogue.resources import File, Icon, Mod, Part, Votes
from modhub.downloads import file_response
from modhub.errors import not_found
from modhub.identity import NOBODY, Credential
from modhub.interfaces import IAsset, ICatalogue, IGameIcon, IMod, INotes, IVotes
from modhub.payload import encode, query
from modhub.reads import ready
from modhub.request import Request
from modhub.views import OPEN, api, page

_SORTS = frozenset({"new", "top"})
_DIGITS = 9


def finder(request: Request) -> Finder:
    """The reading side of the catalogue."""
    found: Finder = request.registry.catalogue
    return found


def wish(request: Request) -> Wish:
    """The list parameters; whatever is sent, none is refused (decisions 2.5)."""
    sort = query(request, "sort") or "new"
    return Wish(
        q=_line(query(request, "q"), limits.QUERY),
        game=_line(query(request, "game"), limits.GAME),
        sort=sort if sort in _SORTS else "new",
        page=_number(query(request, "page"), 1, 10**_DIGITS),
        size=_number(query(request, "size"), limits.PAGE_SIZE, limits.PAGE_SIZE_MOST),
    )


def _line(value: str | None, limit: int) -> str:
    return text.line(value, limit) if value else ""


def _number(value: str | None, default: int, most: int) -> int:
    """A whole number between 1 and ``most``; what is none is the default."""
    digits = (value or "").removeprefix("-")
    negative = digits != (value or "")
    if not (digits.isascii() and digits.isdigit()):
        return default
    if negative:
        return 1
    digits = digits.lstrip("0")
    return most if len(digits) > _DIGITS else min(max(int(digits or "0"), 1), most)


@api(context=ICatalogue, request_method="GET", permission=OPEN)
def list_mods(_context: Any, request: Request) -> Response:
    """``GET /api/modhub``"""
    return ready(request, finder(request).find(wish(request)).body())


@api(context=IMod, request_method="GET", permission=OPEN)
def read_mod(context: Mod, request: Request) -> Response:
    """``GET /api/modhub/{id}``"""
    found = finder(request).mod(context.id)
    if found is None:
        raise not_found()
    body, links = found
    response = ready(request, body)
    if links and response.status_int == 200:
        response.headerlist.append(("Link", links))
    return response


@api(context=INotes, request_method="GET", permission=OPEN)
def read_notes(context: Part, request: Request) -> Response:
    """``GET /api/modhub/{id}/changelog``"""
    notes = finder(request).notes(context.mod.id)
    if notes is None:
        raise not_found()
    return ready(request, encode({"count": len(notes), "notes": notes}))


@api(context=ICatalogue, name="games", request_method="GET", permission=OPEN)
def list_games(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/games``"""
    games = finder(request).games()
    return ready(request, encode({"count": len(games), "games": games}))


@api(context=IMod, name="download", request_method="GET", permission=OPEN)
def download(context: Mod, request: Request) -> Response:
    """``GET /api/modhub/{id}/download``"""
    return _file(request, finder(request).code(context.id))


@page(context=IAsset, request_method="GET", permission=OPEN)
def read_file(context: File, request: Request) -> Response:
    """``GET /Modhub/file/{assetId}``"""
    return _file(request, finder(request).asset(context.id))


@page(context=IGameIcon, request_method="GET", permission=OPEN)
def read_icon(context: Icon, request: Request) -> Response:
    """``GET /Modhub/game-icon/{iconId}``"""
    return _file(request, finder(request).icon(context.id))


def _file(request: Request, file: Any) -> Response:
    if file is None:
        raise not_found()
    return file_response(request, request.store, file)


@api(context=IVotes, request_method="GET", permission=OPEN)
def read_votes(context: Votes, request: Request) -> VotesDocument:
    """``GET /api/modhub/{id}/vote``: the one public read that looks at a bearer (decisions 1.7)."""
    votes = finder(request).votes(context.mod.id)
    if votes is None:
        raise not_found()
    identity = request.identify(Credential.ACCOUNT)
    if identity is NOBODY or identity.account_id is None:
        return VotesDocument(*votes)
    return VotesDocument(*votes, voting.vote_of(request.dbsession, context.mod.id, identity.account_id))
