"""API views for owners: parse the request, call one service function, return its document."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from pyramid.response import Response
from sqlalchemy.orm import Session

from modhub.base.errors import RunAgain, invalid
from modhub.base.identity import CorePermission, CredentialKind
from modhub.base.operations import FileBody, Lead, Operation, Parameter, Refusal, body_over
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.bodies import (
    ModChange,
    NewMod,
    VoteChange,
)
from modhub.catalogue.documents import (
    KeyDocument,
    MineDocument,
    ModDocument,
    QuotaDocument,
    VersionUsedDocument,
    VotesDocument,
    mod_document,
)
from modhub.catalogue.models import AssetKind, Mod
from modhub.catalogue.owning import services, uploads, voting
from modhub.catalogue.owning.archives import END_BYTES, judge_code
from modhub.catalogue.owning.idempotency import RepeatableCall, create_once, describe_call, read_idempotency_key
from modhub.catalogue.owning.reads import read_mods
from modhub.catalogue.owning.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.catalogue.reading.views import NO_MOD
from modhub.catalogue.resources import ModChild, ModPermission, ModResource, VotesResource
from modhub.content import limits, text
from modhub.content.limits import JSON_BODY, MB
from modhub.plugins.moderation import IQuotas
from modhub.plugins.resources import ICatalogue, IImages, IMod, IVotes
from modhub.plugins.security import lock_caller
from modhub.web.payload import decode_in_turn, query, read_body, read_json
from modhub.web.request import Request
from modhub.web.uploads import receive_upload
from modhub.web.views import api

KEY_USED: Final = Refusal(409, "idempotency_key_used", "The key was sent with another query or body.")
KEY_IN_USE: Final = Refusal(503, "busy", "The first call with this `Idempotency-Key` has not ended.")
IDEMPOTENCY_KEY: Final = Parameter(
    "Idempotency-Key", "1 to 255 printable ASCII characters: the same call again within a day creates nothing."
)
WRONG_TYPE: Final = Refusal(400, "invalid_input", "A field of the wrong type.")
UPLOADED_FILE: Final = FileBody("The file itself.")
NO_FILE: Final = Refusal(400, "invalid_input", "An empty body, a multipart form, or a `Content-Encoding`.")
NO_FURTHER_MOD: Final = Refusal(
    403, "quota", "Where the operator has set quotas: the account has as many mods as it may have.", QuotaDocument
)
NO_MOD_TODAY: Final = Refusal(
    429, "quota", "Where the operator has set quotas: the account is new, and has made as many mods in a day as it may."
)
NO_FURTHER_UPLOAD: Final = Refusal(
    429, "quota", "Where the operator has set quotas: the account has uploaded as many files in an hour as it may."
)
FOUND_BY_SCAN: Final = Refusal(
    400, "rejected_by_scan", "Where the operator has a scanner: it found something in the file."
)
OF_THE_MOD: Final = tuple(
    Lead(name, {"id": "$response.body#/id"})
    for name in (
        "edit_mod",
        "upload_code",
        "upload_image",
        "rehearse_mod",
        "publish_mod",
        "delete_mod",
    )
)


def upload_name(fallback: str) -> Parameter:
    """The parameter ``name`` of an upload."""
    about = f"The name to save it under: the last part of a path, at most {limits.FILE_NAME} characters; `{fallback}` "
    return Parameter("name", about + "when not sent.")


def upload_over(limit: int) -> Refusal:
    """413 for a file that is too large, or for which the account has no room."""
    over = body_over(limit)
    more = "; where the operator has set quotas, also a file for which the account has no room."
    return replace(over, about=over.about.removesuffix(".") + more)


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


@api(
    context=IVotes,
    request_method="PUT",
    permission=ModPermission.VOTE,
    operation=Operation(
        id="vote",
        about="Vote for a mod, against it, or withdraw the vote.",
        takes=VoteChange,
        returns=VotesDocument,
        refusals=(
            Refusal(400, "invalid_input", "`value` is something else."),
            Refusal(403, "own_mod", "The mod is the caller's own."),
            NO_MOD,
        ),
        clauses=("C-VOTE-1",),
    ),
)
def vote_view(context: VotesResource, request: Request) -> VotesDocument:
    """``PUT /api/modhub/{id}/vote``"""
    voting.check_not_owner(context.mod.owner, account_id_of(request))
    vote = read_json(request, VoteChange).vote()
    return voting.cast_vote(request.dbsession, context.mod.id, lock_caller(request), vote)


@api(
    context=ICatalogue,
    request_method="POST",
    permission=ModPermission.CREATE,
    operation=Operation(
        id="create_mod",
        about="Create a draft.",
        takes=NewMod,
        returns=ModDocument,
        status=201,
        headers=(IDEMPOTENCY_KEY,),
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "No title, a field of the wrong type, an item that is not a GUID, a GUID in both lists, more than "
                f"{limits.GUIDS} in a list, a malformed `Idempotency-Key`.",
            ),
            Refusal(401, "unauthorized", "No valid token; or the mod that this key has made was deleted."),
            NO_FURTHER_MOD,
            NO_MOD_TODAY,
            KEY_USED,
            KEY_IN_USE,
        ),
        leads_to=OF_THE_MOD,
        clauses=("C-OWN-1", "C-OWN-4", "C-OWN-31", "C-MOD-2", "C-MOD-3", "C-MOD-4", "C-MOD-6", "C-MOD-8", "C-ERR-10"),
    ),
)
def create_view(_context: Any, request: Request) -> ModDocument:
    """``POST /api/modhub``"""
    key, body = read_idempotency_key(request), read_body(request, JSON_BODY)
    cleaned = decode_in_turn(body, NewMod).cleaned()
    owner = lock_caller(request)
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
    operation=Operation(
        id="list_own_mods",
        about="All mods of the caller, drafts included, most recently changed first.",
        returns=MineDocument,
        clauses=("C-OWN-10",),
    ),
)
def mine_view(_context: Any, request: Request) -> MineDocument:
    """``GET /api/modhub/mine``"""
    mods = [mod_document(mod) for mod in readable_mods(request, request.dbsession)]
    return MineDocument(len(mods), mods)


@api(
    context=IMod,
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="edit_mod",
        about="Change the fields that are sent.",
        takes=ModChange,
        returns=ModDocument,
        headers=(
            Parameter("If-Match", "The mod's `updatedAt` in quotes: 412 if it has changed since. `*` always fits."),
        ),
        refusals=(
            Refusal(400, "invalid_input", "As for a new mod, an empty title, or the mod's own GUID in a list."),
            Refusal(412, "changed", "The mod has another `updatedAt` than `If-Match` says: read it again."),
        ),
        clauses=("C-OWN-2", "C-OWN-4", "C-OWN-30", "C-MOD-13"),
    ),
)
def edit_view(context: ModResource, request: Request) -> ModDocument:
    """``PUT /api/modhub/{id}``"""
    cleaned = read_json(request, ModChange).cleaned()
    if_match = request.environ.get("HTTP_IF_MATCH", "*")
    mod = services.edit_mod(request.dbsession, context.id, account_id_of(request), cleaned, if_match=if_match)
    return mod_document(mod)


@api(
    context=IMod,
    name="publish",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="publish_mod",
        about="Publish a mod. There is no way back. A published one stays as it is.",
        returns=ModDocument,
        refusals=(
            Refusal(409, "no_code", "No code file has been uploaded."),
            Refusal(409, "not_scanned", "Where the operator has a scanner: a file still waits for it."),
            Refusal(
                409, "rejected_by_scan", "Where the operator has a scanner: it found something in a file that waited."
            ),
        ),
        leads_to=tuple(Lead(name, {"id": "$response.body#/id"}) for name in ("read_mod", "download_mod", "vote")),
        clauses=("C-OWN-8", "C-PRO-2"),
    ),
)
def publish_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/publish``"""
    return mod_document(services.publish_mod(request.dbsession, context.id, account_id_of(request)))


@api(
    context=IMod,
    request_method="DELETE",
    permission=ModPermission.DELETE,
    operation=Operation(
        id="delete_mod",
        about="Delete a mod with its changelog, votes and files, permanently.",
        status=204,
        clauses=("C-OWN-11",),
    ),
)
def delete_view(context: ModResource, request: Request) -> Response:
    """``DELETE /api/modhub/{id}``"""
    services.delete_mod(request.dbsession, context.id, account_id_of(request))
    return Response(status=204)


@api(
    context=IMod,
    name="code",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="upload_code",
        about="Upload the code file of a new version.",
        takes=UPLOADED_FILE,
        returns=ModDocument,
        status=201,
        parameters=(
            Parameter(
                "version",
                f"Any label, cut at {limits.VERSION} characters, that this mod has not used yet. A version is free "
                "again when its changelog entry is deleted.",
                required=True,
                example="1.4",
            ),
            upload_name("mod.bin"),
        ),
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "No `version`, an empty body, `{}` or `[object …]`, a multipart form, or a `Content-Encoding`.",
            ),
            FOUND_BY_SCAN,
            Refusal(
                409,
                "version_used",
                "The version has been used. The answer says what is stored under it.",
                VersionUsedDocument,
            ),
            upload_over(limits.CODE),
            NO_FURTHER_UPLOAD,
        ),
        leads_to=(
            *OF_THE_MOD[-2:],
            Lead("list_own_entries", {"id": "$response.body#/id"}),
        ),
        clauses=("C-UP-1", "C-UP-2", "C-UP-3", "C-UP-4", "C-UP-5", "C-UP-7", "C-UP-10", "C-UP-11"),
    ),
)
def upload_code_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/code``"""
    version = text.version(query(request, "version") or "")
    if not version:
        raise invalid("A code upload needs a version in the address: ?version=1.0.")
    try:
        return _upload(context, request, AssetKind.CODE, version)
    except RunAgain:
        # A used version is known without the body (C-ERR-20); it is checked again when the file is there.
        with request.databases.readonly_session() as session:
            uploads.check_version(session, context.id, version)
        raise


@api(
    context=IMod,
    name="css",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="upload_css",
        about="Upload the style sheet. A second one replaces the first.",
        takes=UPLOADED_FILE,
        returns=ModDocument,
        status=201,
        parameters=(upload_name("mod.css"),),
        refusals=(NO_FILE, FOUND_BY_SCAN, upload_over(limits.CSS), NO_FURTHER_UPLOAD),
        clauses=("C-UP-1", "C-UP-2", "C-UP-7", "C-UP-10", "C-UP-11"),
    ),
)
def upload_css_view(context: ModResource, request: Request) -> ModDocument:
    """``POST /api/modhub/{id}/css``"""
    return _upload(context, request, AssetKind.CSS)


@api(
    context=IImages,
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=Operation(
        id="upload_image",
        about="Add an image. Its `Content-Type` is stored: sent as `application/octet-stream`, it is not shown inline.",
        takes=UPLOADED_FILE,
        returns=ModDocument,
        status=201,
        parameters=(upload_name("image"),),
        headers=(IDEMPOTENCY_KEY,),
        refusals=(
            Refusal(
                400,
                "invalid_input",
                "An empty body, a multipart form, a `Content-Encoding`, or a malformed `Idempotency-Key`.",
            ),
            FOUND_BY_SCAN,
            KEY_USED,
            Refusal(
                413,
                "too_large",
                f"More than {limits.IMAGE // MB} MB, or more than {limits.IMAGES // MB} MB with the images that are "
                "there, or, where the operator has set quotas, more than the files of the account may take up; "
                "`limitBytes` says which.",
                limit=limits.IMAGES,
            ),
            NO_FURTHER_UPLOAD,
            KEY_IN_USE,
        ),
        clauses=("C-UP-1", "C-UP-2", "C-UP-7", "C-UP-10", "C-UP-11", "C-OWN-31"),
    ),
)
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
    name, content_type = text.file_name(query(request, "name"), FALLBACKS[kind]), text.content_type(content_type)
    is_code = kind is AssetKind.CODE
    problems = judge_code(received.head, received.end, name, content_type) if is_code else None
    return AssetUpload(kind, name, content_type, received.blob, version, problems)


@api(
    context=ICatalogue,
    name="key",
    request_method="GET",
    permission=CorePermission.KEY_TEST,
    operation=Operation(
        id="test_machine_key",
        about="Succeeds with any valid machine key, and changes nothing.",
        returns=KeyDocument,
        clauses=("C-KEY-1", "C-KEY-2", "C-KEY-3"),
    ),
)
def test_key_view(_context: Any, _request: Request) -> KeyDocument:
    """``GET /api/modhub/key``: succeeds with any valid machine key."""
    return KeyDocument(ok=True)
