"""Public API views: they use no credentials and read only the public copies."""

from collections.abc import Collection
from typing import Any, Final

from pyramid.response import Response

from modhub.base.errors import found
from modhub.base.identity import CredentialKind
from modhub.base.operations import FILE_LINKS, RANGED_FILE, Lead, Operation, Parameter, Refusal
from modhub.base.peers import peer_of_address
from modhub.catalogue.documents import (
    CaptionsDocument,
    GamesDocument,
    ModListDocument,
    NotesDocument,
    SingleModDocument,
    VotesDocument,
)
from modhub.catalogue.files import FileResource, GameIconResource, PictureResource, SizedPictureResource
from modhub.catalogue.models import AssetKind
from modhub.catalogue.owning import voting
from modhub.catalogue.owning.successors import SupersededDocument
from modhub.catalogue.reading.service import CatalogueReader, ListParams, ModFile
from modhub.catalogue.resources import ModChild, ModResource, VotesResource
from modhub.content import limits, text
from modhub.plugins.declarations import API_SORTS
from modhub.plugins.events import DownloadStarted
from modhub.plugins.resources import IAsset, ICatalogue, IGameIcon, IMod, INotes, IPicture, ISizedPicture, IVotes
from modhub.web.downloads import file_response
from modhub.web.payload import encode, query, query_number
from modhub.web.request import Request
from modhub.web.responses import composed_json, public_json
from modhub.web.views import OPEN, api, page

NO_MOD: Final = Refusal(404, "not_found", "No such mod, or it is a draft or hidden.")
LISTED_BY: Final = (
    Parameter(
        "q",
        "Each word must occur in the title or in a game's name; parts of words count; capitals and accents do not "
        f"matter. Cut at {limits.QUERY} characters.",
        example="hud",
    ),
    Parameter("game", "One game by its whole name; capitals and outer spaces do not matter.", example="Portal 2"),
    Parameter("sort", "`new`: most recently changed first. `top`: votes for minus votes against.", str, "new"),
    Parameter("page", "Counted from 1.", int, 1),
    Parameter("size", f"Mods on a page, at most {limits.PAGE_SIZE_MOST}.", int, limits.PAGE_SIZE),
)


_SENDS_CONTENT: Final = frozenset({200, 206})


def notify_download(request: Request, mod_file: ModFile, response: Response) -> None:
    """Fire the event if ``response`` has content of the code file, whether we or a proxy will send it."""
    if mod_file.kind != AssetKind.CODE or request.method != "GET" or response.status_int not in _SENDS_CONTENT:
        return
    asked = response.content_range
    caller = peer_of_address(request.environ.get("REMOTE_ADDR") or "")
    request.registry.notify(
        DownloadStarted(
            mod_id=mod_file.mod_id,
            asset_id=mod_file.asset_id,
            version=mod_file.version,
            caller=caller,
            first_byte=asked.start if asked else 0,
            status=response.status_int,
            length=asked.stop - asked.start if asked else mod_file.file.size,
            size=mod_file.file.size,
            registry=request.registry,
        )
    )


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
        page=query_number(request),
        size=query_number(request, "size", limits.PAGE_SIZE, limits.PAGE_SIZE_MOST),
    )


def _line(value: str | None, limit: int) -> str:
    return text.line(value, limit) if value else ""


def _is_by_time(request: Request) -> bool:
    """Whether a list is the same until a mod changes: votes change the order of the best."""
    return query(request, "sort") != "top"


@api(
    context=ICatalogue,
    request_method="GET",
    permission=OPEN,
    response_cache=_is_by_time,
    operation=Operation(
        id="list_mods",
        about="Published mods, a page at a time. No parameter is refused, and the answer names the values that were "
        "used.",
        returns=ModListDocument,
        parameters=LISTED_BY,
        leads_to=(Lead("read_mod", {"id": "$response.body#/mods/0/id"}),),
        clauses=("C-LIST-1", "C-LIST-2", "C-LIST-4", "C-LIST-5", "C-LIST-7", "C-LIST-8"),
    ),
)
def list_mods_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub``"""
    return public_json(catalogue_reader(request).find(list_params(request)).body())


@api(
    context=IMod,
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="read_mod",
        about="A published mod with all that must be installed for it. A `Link` header names its files with their "
        "digests.",
        returns=SingleModDocument,
        refusals=(NO_MOD,),
        sends=(FILE_LINKS,),
        leads_to=tuple(
            Lead(name, {"id": "$response.body#/id"})
            for name in ("download_mod", "read_changelog", "read_captions", "read_successor", "read_votes")
        ),
        clauses=("C-READ-1", "C-READ-2", "C-READ-6", "C-READ-11", "C-MOD-1", "C-MOD-12"),
    ),
)
def read_mod_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}``"""
    return found(composed_json(request, lambda: catalogue_reader(request).mod(context.id)))


@api(
    context=INotes,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_changelog",
        about="The changelog of a published mod, newest first.",
        returns=NotesDocument,
        refusals=(NO_MOD,),
        clauses=("C-READ-8", "C-NOTE-1", "C-UP-5"),
    ),
)
def read_notes_view(context: ModChild, request: Request) -> Response:
    """``GET /api/modhub/{id}/changelog``"""
    return found(composed_json(request, lambda: catalogue_reader(request).changelog(context.mod.id)))


@api(
    context=IMod,
    name="captions",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_captions",
        about="The images of a published mod in their owner's order, with their captions.",
        returns=CaptionsDocument,
        refusals=(NO_MOD,),
        clauses=("C-PIC-9",),
    ),
)
def read_captions_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/captions``"""
    captions = found(catalogue_reader(request).captions(context.id))
    return public_json(encode(CaptionsDocument(len(captions), captions)))


@api(
    context=IMod,
    name="superseded",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_successor",
        about="The published mod that supersedes this one, or null.",
        returns=SupersededDocument,
        refusals=(NO_MOD,),
        clauses=("C-OWN-18",),
    ),
)
def read_successor_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/superseded``: the published mod that supersedes this one, or null."""
    return public_json(encode(found(catalogue_reader(request).superseded(context.id))))


@api(
    context=ICatalogue,
    name="games",
    request_method="GET",
    permission=OPEN,
    response_cache=True,
    operation=Operation(
        id="list_games",
        about="The games that the operator keeps, with their icons.",
        returns=GamesDocument,
        clauses=("C-READ-10",),
    ),
)
def list_games_view(_context: Any, request: Request) -> Response:
    """``GET /api/modhub/games``"""
    games = catalogue_reader(request).games()
    return public_json(encode(GamesDocument(len(games), games)))


@api(
    context=IMod,
    name="download",
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="download_mod",
        about="The code file of a published mod.",
        returns=RANGED_FILE,
        refusals=(Refusal(404, "not_found", "No such mod, it is a draft or hidden, or it has no code."),),
        clauses=("C-READ-9", "C-FILE-1", "C-FILE-2", "C-FILE-5", "C-FILE-6", "C-FILE-8"),
    ),
)
def download_view(context: ModResource, request: Request) -> Response:
    """``GET /api/modhub/{id}/download``"""
    return _mod_file(request, found(catalogue_reader(request).code(context.id)))


@page(
    context=IAsset,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_file",
        about="A file of a published mod: the `url` of an asset.",
        returns=RANGED_FILE,
        refusals=(Refusal(404, "not_found", "No such file, or its mod is a draft or hidden."),),
        clauses=("C-FILE-1", "C-FILE-2", "C-FILE-4", "C-FILE-5", "C-FILE-6", "C-FILE-7", "C-FILE-8"),
    ),
)
def read_file_view(context: FileResource, request: Request) -> Response:
    """``GET /Modhub/file/{assetId}``"""
    return _mod_file(request, found(catalogue_reader(request).asset(context.id)))


@page(context=IPicture, request_method="GET", permission=OPEN)
def read_picture_view(context: PictureResource, request: Request) -> Response:
    """``GET /Modhub/picture/{assetId}/{name}``"""
    picture = catalogue_reader(request).picture(context.asset_id, context.name)
    return file_response(request, request.store, found(picture))


@page(
    context=ISizedPicture,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_picture",
        about="A smaller copy of an image of a published mod, as WebP if `Accept` allows it, else as JPEG. "
        "While there is no such copy, the image itself.",
        returns=RANGED_FILE,
        refusals=(Refusal(404, "not_found", "No such image or width, or its mod is a draft or hidden."),),
        clauses=("C-PIC-1", "C-FILE-1", "C-FILE-2", "C-FILE-4", "C-FILE-7"),
    ),
)
def read_sized_picture_view(context: SizedPictureResource, request: Request) -> Response:
    """``GET /Modhub/picture/{assetId}/{width}``"""
    assert context.__parent__ is not None
    content_types = ["image/webp"] * bool(request.accept.acceptable_offers(["image/webp"]))
    asset_id, width = context.__parent__.id, context.__name__
    picture = catalogue_reader(request).sized_picture(asset_id, width, [*content_types, "image/jpeg"])
    return file_response(request, request.store, found(picture))


@page(context=IGameIcon, request_method="GET", permission=OPEN)
def read_icon_view(context: GameIconResource, request: Request) -> Response:
    """``GET /Modhub/game-icon/{iconId}``"""
    return file_response(request, request.store, found(catalogue_reader(request).icon(context.id)))


def _mod_file(request: Request, mod_file: ModFile) -> Response:
    response = file_response(request, request.store, mod_file.file)
    notify_download(request, mod_file, response)
    return response


@api(
    context=IVotes,
    request_method="GET",
    permission=OPEN,
    operation=Operation(
        id="read_votes",
        about="The votes on a published mod. With a token, also the caller's own.",
        returns=VotesDocument,
        signed_in_too=True,
        refusals=(NO_MOD,),
        clauses=("C-VOTE-2",),
    ),
)
def read_votes_view(context: VotesResource, request: Request) -> VotesDocument:
    """``GET /api/modhub/{id}/vote``: the only public read that uses a bearer token (C-OWN-12)."""
    votes = found(catalogue_reader(request).votes(context.mod.id))
    identity = request.identify(CredentialKind.ACCOUNT)
    if identity.account_id is None or identity.key_scope is not None:
        return VotesDocument(*votes)
    return VotesDocument(*votes, voting.vote_of(request.dbsession, context.mod.id, identity.account_id))
