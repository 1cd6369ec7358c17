"""API views for owners: parse the request, call one service function, return its document."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from pyramid.response import Response
from sqlalchemy.orm import Session

from modhub.base.errors import ContinueExpected, invalid
from modhub.base.identity import CorePermission, CredentialKind
from modhub.base.service_registry import find_optional_service
from modhub.catalogue import operations, services, uploads, voting
from modhub.catalogue.archives import END_BYTES, judge_archive
from modhub.catalogue.idempotency import RepeatableCall, create_once, describe_call, read_idempotency_key
from modhub.catalogue.models import AssetKind, Mod
from modhub.catalogue.owner_queries import read_mods
from modhub.catalogue.owner_response_schemas import KeyDocument
from modhub.catalogue.request_schemas import ModChange, NewMod, NoteChange, VoteChange
from modhub.catalogue.resources import ImageResource, ModChild, ModPermission, ModResource, NoteResource, VotesResource
from modhub.catalogue.response_schemas import (
    MineDocument,
    ModDocument,
    NoteDocument,
    VotesDocument,
    mod_document,
    note_document,
)
from modhub.catalogue.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.content import text
from modhub.content.limits import JSON_BODY
from modhub.plugins.moderation import IQuotas
from modhub.plugins.resources import IAsset, ICatalogue, IImages, IMod, INote, IVotes
from modhub.web.payload import decode_in_turn, query, read_body, read_json
from modhub.web.request import Request
from modhub.web.uploads import receive_upload
from modhub.web.views import api


def account_id_of(request: Request) -> int:
    """Return the signed-in account; only for views whose permission requires one."""
    account_id = request.identify(CredentialKind.ACCOUNT).account_id
    assert account_id is not None
    return account_id


def readable_mods(request: Request, session: Session) -> Sequence[Mod]:
    """Return the mods of the signed-in account, most recently changed first; with a publisher key, those it is for."""
    scope = request.identify(CredentialKind.ACCOUNT).key_scope
    mods = read_mods(session, account_id_of(request))
    return mods if scope is None else [mod for mod in mods if scope.covers(mod.id)]


def locked_account_id(request: Request) -> int:
    """Return the signed-in account and lock it until the end of the transaction (:func:`services.lock_owner`)."""
    account_id = account_id_of(request)
    services.lock_owner(request.dbsession, account_id)
    return account_id


@api(context=IVotes, request_method="PUT", permission=ModPermission.VOTE, operation=operations.VOTE)
def vote_view(context: VotesResource, request: Request) -> VotesDocument:
    """``PUT /api/modhub/{id}/vote``"""
    voting.check_not_owner(context.mod.owner, account_id_of(request))
    vote = read_json(request, VoteChange).vote()
    return voting.cast_vote(request.dbsession, context.mod.id, locked_account_id(request), vote)


@api(context=ICatalogue, request_method="POST", permission=ModPermission.CREATE, operation=operations.CREATE_MOD)
def create_view(_context: Any, request: Request) -> ModDocument:
    """``POST /api/modhub``"""
    key, body = read_idempotency_key(request), read_body(request, JSON_BODY)
    cleaned = decode_in_turn(body, NewMod).cleaned()
    owner = locked_account_id(request)
    call = describe_call(key, owner, "mods", request.query_string, hashlib.sha256(body).hexdigest())
    return _created(request, owner, call, lambda: services.create_mod(request.dbsession, owner, cleaned))


def _created(request: Request, owner: int, call: RepeatableCall | None, create: Callable[[], Mod]) -> ModDocument:
    session = request.dbsession
    mod, is_first = create_once(session, call, create, lambda mod_id: services.own_mod(session, mod_id, owner))
    document = mod_document(mod)
    if not is_first:
        # Nothing to keep, least of all the file that was uploaded again.
        request.tm.doom()
    request.response.status_int = 201
    return document


@api(
    context=ICatalogue,
    name="mine",
    request_method="GET",
    permission=ModPermission.LIST_MINE,
    operation=operations.LIST_OWN_MODS,
)
def mine_view(_context: Any, request: Request) -> MineDocument:
    """``GET /api/modhub/mine``"""
    mods = [mod_document(mod) for mod in readable_mods(request, request.dbsession)]
    return MineDocument(len(mods), mods)


@api(context=IMod, request_method="PUT", permission=ModPermission.EDIT, operation=operations.EDIT_MOD)
def edit_view(context: ModResource, request: Request) -> ModDocument:
    """``PUT /api/modhub/{id}``"""
    cleaned = read_json(request, ModChange).cleaned()
    if_match = request.environ.get("HTTP_IF_MATCH", "*")
    mod = services.edit_mod(request.dbsession, context.id, account_id_of(request), cleaned, if_match=if_match)
    return mod_document(mod)


@api(
    context=IMod, name="publish", request_method="POST", permission=ModPermission.EDIT, operation=operations.PUBLISH_MOD
)
def publish_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/publish``"""
    return mod_document(services.publish_mod(request.dbsession, context.id, account_id_of(request)))


@api(context=IMod, request_method="DELETE", permission=ModPermission.DELETE, operation=operations.DELETE_MOD)
def delete_view(context: ModResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}``"""
    services.delete_mod(request.dbsession, context.id, account_id_of(request))
    return Response(status=204)


@api(context=IMod, name="code", request_method="POST", permission=ModPermission.EDIT, operation=operations.UPLOAD_CODE)
def upload_code_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/code``"""
    version = text.version(query(request, "version") or "")
    if not version:
        raise invalid("A code upload needs a version in the address: ?version=1.0.")
    try:
        return _upload(context, request, AssetKind.CODE, version)
    except ContinueExpected:
        # A used version is known without the body (C-ERR-20); it is checked again when the file is there.
        with request.databases.readonly_session() as session:
            uploads.check_version(session, context.id, version)
        raise


@api(context=IMod, name="css", request_method="POST", permission=ModPermission.EDIT, operation=operations.UPLOAD_CSS)
def upload_css_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/css``"""
    return _upload(context, request, AssetKind.CSS)


@api(context=IImages, request_method="POST", permission=ModPermission.EDIT, operation=operations.UPLOAD_IMAGE)
def upload_image_view(context: ModChild, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/images``"""
    key, mod_id, owner = read_idempotency_key(request), context.mod.id, account_id_of(request)
    upload = _receive(request, AssetKind.IMAGE)
    call = describe_call(key, owner, f"images of {mod_id}", request.query_string, upload.blob.sha256)
    if call is not None:
        # Of two calls with one key the second waits here, and finds what the first one has stored.
        services.own_mod(request.dbsession, mod_id, owner)
    return _created(request, owner, call, lambda: uploads.store_upload(request.dbsession, mod_id, owner, upload))


def _upload(context: ModResource, request: Request, kind: AssetKind, version: str = "") -> ModDocument:
    upload = _receive(request, kind, version)
    mod = uploads.store_upload(request.dbsession, context.id, account_id_of(request), upload)
    request.response.status_int = 201
    return mod_document(mod)


def _receive(request: Request, kind: AssetKind, version: str = "") -> AssetUpload:
    """Stage the body; if the service then fails, nothing is stored."""
    if "HTTP_IDEMPOTENCY_KEY" not in request.environ:  # A repeated call stores nothing, so no limit is in its way.
        quotas = find_optional_service(request.registry, IQuotas)
        if quotas is not None:
            quotas.refuse_upload(account_id_of(request))
    received = receive_upload(request, LIMITS[kind], END_BYTES if kind is AssetKind.CODE else 0)
    content_type = request.environ.get("CONTENT_TYPE")
    if kind is AssetKind.IMAGE and not content_type:
        content_type = text.sniff_image(received.head)
    name = text.file_name(query(request, "name"), FALLBACKS[kind])
    problems = judge_archive(received.head, received.end) if kind is AssetKind.CODE else None
    return AssetUpload(kind, name, text.content_type(content_type), received.blob, version, problems)


@api(context=IAsset, request_method="DELETE", permission=ModPermission.EDIT, operation=operations.DELETE_IMAGE)
def delete_image_view(context: ImageResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/images/{assetId}``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return Response(status=204)


@api(context=INote, request_method="PUT", permission=ModPermission.EDIT, operation=operations.EDIT_ENTRY)
def edit_note_view(context: NoteResource, request: Request) -> NoteDocument:
    """``PUT /api/modhub/{id}/changelog/{noteId}``"""
    cleaned = read_json(request, NoteChange).cleaned()
    return note_document(
        services.edit_note(request.dbsession, context.mod.id, context.id, account_id_of(request), cleaned)
    )


@api(context=INote, request_method="DELETE", permission=ModPermission.EDIT, operation=operations.DELETE_ENTRY)
def delete_note_view(context: NoteResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}/changelog/{noteId}``"""
    services.remove_note(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return Response(status=204)


@api(
    context=ICatalogue,
    name="key",
    request_method="GET",
    permission=CorePermission.KEY_TEST,
    operation=operations.TEST_MACHINE_KEY,
)
def test_key_view(_context: Any, _request: Request) -> KeyDocument:
    """``GET /api/modhub/key``: succeeds with any valid machine key."""
    return KeyDocument(ok=True)
