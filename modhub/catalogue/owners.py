"""The catalogue for owners: a view reads, calls one service function, answers. The caller is known."""

from typing import Any

from pyramid.response import Response

from modhub import text
from modhub.blobs.receiving import receive
from modhub.catalogue import services, uploads, voting
from modhub.catalogue.documents import (
    MineDocument,
    ModDocument,
    NoteDocument,
    VotesDocument,
    mod_document,
    note_document,
)
from modhub.catalogue.models import Kind
from modhub.catalogue.owned import Owned
from modhub.catalogue.payloads import ModChange, NewMod, NoteChange, VoteChange
from modhub.catalogue.resources import Image, Mod, ModPermission, Note, Part, Votes
from modhub.catalogue.uploads import FALLBACKS, LIMITS, Upload
from modhub.errors import NotYours, invalid
from modhub.identity import CorePermission, Credential
from modhub.interfaces import IAccounts, IAsset, ICatalogue, IImages, IMod, INote, IVotes
from modhub.payload import query, read_json
from modhub.request import Request
from modhub.views import api


def caller(request: Request) -> int:
    """The signed-in account; only behind a permission that asks for one."""
    account_id = request.identify(Credential.ACCOUNT).account_id
    assert account_id is not None
    return account_id


def owned(request: Request) -> Owned:
    """What owners read of their own mods."""
    found: Owned = request.registry.catalogue_owned
    return found


def staying_caller(request: Request) -> int:
    """The signed-in account, which cannot be deleted before this transaction ends: what it makes has an owner."""
    account_id = caller(request)
    accounts = request.registry.queryUtility(IAccounts)
    if accounts is not None and not accounts.hold(request.dbsession, account_id):
        raise NotYours
    return account_id


@api(context=IVotes, request_method="PUT", permission=ModPermission.VOTE)
def vote(context: Votes, request: Request) -> VotesDocument:
    """``PUT /api/modhub/{id}/vote``"""
    voting.refuse_owner(context.mod.owner, caller(request))
    given = read_json(request, VoteChange).vote()
    return voting.vote(request.dbsession, context.mod.id, staying_caller(request), given)


@api(context=ICatalogue, request_method="POST", permission=ModPermission.CREATE)
def create(_context: Any, request: Request) -> ModDocument:
    """``POST /api/modhub``"""
    given = read_json(request, NewMod).words()
    mod = services.create(request.dbsession, staying_caller(request), given)
    request.response.status_int = 201
    return mod_document(mod)


@api(context=ICatalogue, name="mine", request_method="GET", permission=ModPermission.LIST_MINE)
def mine(_context: Any, request: Request) -> MineDocument:
    """``GET /api/modhub/mine``"""
    mods = [mod_document(mod) for mod in owned(request).all(caller(request))]
    return MineDocument(len(mods), mods)


@api(context=IMod, request_method="PUT", permission=ModPermission.EDIT)
def edit(context: Mod, request: Request) -> ModDocument:
    """``PUT /api/modhub/{id}``"""
    given = read_json(request, ModChange).words()
    return mod_document(services.edit(request.dbsession, context.id, caller(request), given))


@api(context=IMod, name="publish", request_method="POST", permission=ModPermission.EDIT)
def publish(context: Mod, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/publish``"""
    return mod_document(services.publish(request.dbsession, context.id, caller(request)))


@api(context=IMod, request_method="DELETE", permission=ModPermission.EDIT)
def delete(context: Mod, request: Request) -> Response:
    """``DELETE /api/modhub/{id}``"""
    services.remove(request.dbsession, context.id, caller(request))
    return Response(status=204)


@api(context=IMod, name="code", request_method="POST", permission=ModPermission.EDIT)
def upload_code(context: Mod, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/code``"""
    version = text.version(query(request, "version") or "")
    if not version:
        raise invalid("A code upload needs a version in the address: ?version=1.0.")
    return _upload(context, request, Kind.CODE, version)


@api(context=IMod, name="css", request_method="POST", permission=ModPermission.EDIT)
def upload_css(context: Mod, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/css``"""
    return _upload(context, request, Kind.CSS)


@api(context=IImages, request_method="POST", permission=ModPermission.EDIT)
def upload_image(context: Part, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/images``"""
    return _upload(context.mod, request, Kind.IMAGE)


def _upload(context: Mod, request: Request, kind: Kind, version: str = "") -> ModDocument:
    """Stage the body, then hand it to the service; nothing is kept when either refuses."""
    received = receive(request, LIMITS[kind])
    sent = request.environ.get("CONTENT_TYPE")
    if kind is Kind.IMAGE and not sent:
        sent = text.sniff_image(received.head)
    name = text.file_name(query(request, "name"), FALLBACKS[kind])
    given = Upload(kind, name, text.content_type(sent), received.blob, version)
    mod = uploads.upload(request.dbsession, context.id, caller(request), given)
    request.response.status_int = 201
    return mod_document(mod)


@api(context=IAsset, request_method="DELETE", permission=ModPermission.EDIT)
def delete_image(context: Image, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/images/{assetId}``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, caller(request))
    return Response(status=204)


@api(context=INote, request_method="PUT", permission=ModPermission.EDIT)
def edit_note(context: Note, request: Request) -> NoteDocument:
    """``PUT /api/modhub/{id}/changelog/{noteId}``"""
    given = read_json(request, NoteChange).words()
    return note_document(services.edit_note(request.dbsession, context.mod.id, context.id, caller(request), given))


@api(context=INote, request_method="DELETE", permission=ModPermission.EDIT)
def delete_note(context: Note, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/changelog/{noteId}``"""
    services.remove_note(request.dbsession, context.mod.id, context.id, caller(request))
    return Response(status=204)


@api(context=ICatalogue, name="key", request_method="GET", permission=CorePermission.KEY_TEST)
def test_key(_context: Any, _request: Request) -> dict[str, bool]:
    """``GET /api/modhub/key``: any valid machine key; changes nothing."""
    return {"ok": True}
