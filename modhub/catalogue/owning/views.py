"""API views for owners: parse the request, call one service function, return its document."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from pyramid.response import Response
from sqlalchemy.orm import Session

from modhub.base.errors import RunAgain, invalid
from modhub.base.identity import CorePermission, CredentialKind
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.bodies import (
    CaptionsChange,
    ModChange,
    NewMod,
    NoteChange,
    OrderChange,
    SuccessorChange,
    TextPreview,
    VoteChange,
)
from modhub.catalogue.documents import (
    CaptionsDocument,
    FilesDocument,
    KeyDocument,
    MineDocument,
    ModDocument,
    NoteDocument,
    NotesDocument,
    PreviewDocument,
    RemovedDocument,
    VotesDocument,
    captions_document,
    decode_mod,
    files_document,
    mod_document,
    note_document,
)
from modhub.catalogue.models import AssetKind, Mod
from modhub.catalogue.owning import images, operations, rehearsal, services, uploads, voting
from modhub.catalogue.owning.archives import END_BYTES, ArchiveProblem, judge_code
from modhub.catalogue.owning.idempotency import RepeatableCall, create_once, describe_call, read_idempotency_key
from modhub.catalogue.owning.reads import read_mod, read_mods, read_notes, read_pictures
from modhub.catalogue.owning.rehearsal import (
    IMAGE_PROBLEMS,
    TEXT_PROBLEMS,
    ImageProblem,
    OwnMods,
    RehearsalDocument,
    RehearsedSuccessor,
    TextProblem,
    check_draft,
)
from modhub.catalogue.owning.successors import SupersededDocument, change_successor, read_successor
from modhub.catalogue.owning.texts import find_removed_markup, is_html_truncated, write_text
from modhub.catalogue.owning.uploads import FALLBACKS, LIMITS, AssetUpload
from modhub.catalogue.reading.views import catalogue_reader
from modhub.catalogue.resources import ImageResource, ModChild, ModPermission, ModResource, NoteResource, VotesResource
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.limits import JSON_BODY
from modhub.content.markup import clean
from modhub.plugins.moderation import IQuotas
from modhub.plugins.resources import IAsset, ICatalogue, IImages, IMine, IMod, INote, IOwnMod, IVotes
from modhub.plugins.services import IMods, IPublicMods, ModSummary
from modhub.ui.template_helpers import PageHelpers
from modhub.web.payload import decode_in_turn, query, read_body, read_json
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.uploads import receive_upload
from modhub.web.views import api, page


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
    except RunAgain:
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
    name, content_type = text.file_name(query(request, "name"), FALLBACKS[kind]), text.content_type(content_type)
    is_code = kind is AssetKind.CODE
    problems = judge_code(received.head, received.end, name, content_type) if is_code else None
    return AssetUpload(kind, name, content_type, received.blob, version, problems)


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


# API views for what a mod has beside its fields, as its owner sees and says it.
#
# Files, captions, order of images, successor, changelog.


_GUID: Final = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_PATH: Final = re.compile(r"/Modhub/(?:mine/)?([0-9]{1,18})/?(?:[?#]\S*)?")


@api(
    context=IMod,
    name="files",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=operations.LIST_OWN_FILES,
)
def list_own_files_view(context: ModResource, request: Request) -> FilesDocument:
    """``GET /api/modhub/{id}/files``: with digests, of a draft too, whose files nobody can fetch to compare them."""
    return files_document(read_mod(request.dbsession, context.id, account_id_of(request)))


@api(
    context=IMod,
    name="captions",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=operations.CHANGE_CAPTIONS,
)
def change_captions_view(context: ModResource, request: Request) -> CaptionsDocument:
    """``PUT /api/modhub/{id}/captions``"""
    captions = read_json(request, CaptionsChange).by_image()
    return captions_document(images.caption_images(request.dbsession, context.id, account_id_of(request), captions))


@api(
    context=IMod,
    name="order",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=operations.ORDER_IMAGES,
)
def order_images_view(context: ModResource, request: Request) -> ModDocument:
    """``PUT /api/modhub/{id}/order``"""
    asset_ids = read_json(request, OrderChange).asset_ids
    return mod_document(images.order_all_images(request.dbsession, context.id, account_id_of(request), asset_ids))


@api(
    context=IMod,
    name="superseded",
    request_method="PUT",
    permission=ModPermission.EDIT,
    operation=operations.CHANGE_SUCCESSOR,
)
def change_successor_view(context: ModResource, request: Request) -> SupersededDocument:
    """``PUT /api/modhub/{id}/superseded``"""
    by = read_json(request, SuccessorChange).by
    # Only null clears it: the empty variable of a script must not.
    guid = "" if by is None else find_guid(request, by.strip() or "-", "by")
    change_successor(request.dbsession, context.id, account_id_of(request), guid)
    return SupersededDocument(read_successor(request.dbsession, context.id, account_id_of(request))[1])


def find_guid(request: Request, typed: str, field: str) -> str:
    """Return the GUID for a GUID or an address of ours. Somebody else's draft is like a mod that does not exist.

    So are other drafts of the account to a publisher key that is not for them.
    """
    if not typed or _GUID.fullmatch(typed):
        return typed
    path = _PATH.fullmatch(typed.removeprefix(PageHelpers(request).absolute("")))
    mod_id = parse_id(path[1]) if path else None
    mod = request.find_service(IMods).get_mods(request.dbsession, [mod_id or 0]).get(mod_id or 0)
    if mod is None or not (mod.published or _may_know(request, mod)):
        raise invalid("Enter the GUID or the address of a mod on this site, such as /Modhub/12.", field=field)
    return mod.guid


def _may_know(request: Request, mod: ModSummary) -> bool:
    identity = request.identify(CredentialKind.ACCOUNT)
    is_covered = identity.key_scope is None or identity.key_scope.covers(mod.id)
    return mod.owner == identity.account_id and is_covered


@api(
    context=IMod,
    name="notes",
    request_method="GET",
    permission=ModPermission.EDIT,
    operation=operations.LIST_OWN_ENTRIES,
)
def list_own_notes_view(context: ModResource, request: Request) -> NotesDocument:
    """``GET /api/modhub/{id}/notes``: the changelog, of a draft too."""
    notes = read_notes(request.dbsession, context.id, account_id_of(request))
    return NotesDocument(len(notes), notes)


_LIMITS: Final = {"description": limits.DESCRIPTION, "changelog": limits.NOTE}


@api(
    context=IMod,
    name="preview",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=operations.PREVIEW_TEXT,
)
def preview_view(_context: ModResource, request: Request) -> PreviewDocument:
    """``POST /api/modhub/{id}/preview``: changes nothing."""
    sent = read_json(request, TextPreview)
    limit = _LIMITS[sent.field or "description"]
    written = write_text(sent.text, sent.format or "", limit)
    submitted = written.uncleaned
    cleaned = clean(submitted, limit)
    is_trimmed = written.is_cut or is_html_truncated(submitted, cleaned, limit)
    return PreviewDocument(cleaned, is_trimmed, RemovedDocument(*find_removed_markup(submitted, cleaned)))


def rehearse(request: Request, mod_id: int | None) -> RehearsalDocument:
    """Return what visitors would get if the caller's mod were published as it is now."""
    owner = account_id_of(request)
    games = {fold_game(game.name) for game in catalogue_reader(request).games()}
    with request.databases.readonly_session() as session:
        mod, notes = read_mod(session, mod_id, owner), read_notes(session, mod_id, owner)
        own = OwnMods(mod, readable_mods(request, session))
        guid, successor = read_successor(session, mod_id, owner)
        problems = list(check_draft(mod, notes, read_pictures(session, [mod]), games=games))
        code = next((asset for asset in mod.assets if asset.kind == AssetKind.CODE), None)
        archive = msgspec.convert((code and code.archive_problems) or [], list[ArchiveProblem])
    chain = rehearsal.rehearse_chain(request.find_service(IPublicMods), mod, own)
    install, missing, unpublished, conflicts = chain
    is_blocked = any(problem.is_blocking for problem in problems)
    texts = dict.fromkeys((found.about, found.problem) for found in problems if found.problem in TEXT_PROBLEMS)
    return RehearsalDocument(
        ready=not (is_blocked or missing or unpublished or conflicts or archive),
        install=install,
        missing=missing,
        unpublished=unpublished,
        conflicts=conflicts,
        trimmed=[found.about for found in problems if found.problem == "trimmed"],
        archive=archive,
        games=[found.name for found in problems if found.problem == "unlisted"],
        texts=[TextProblem(*found) for found in texts],
        images=[
            ImageProblem(found.asset_id, found.name, found.problem)
            for found in problems
            if found.problem in IMAGE_PROBLEMS
        ],
        superseded_by=RehearsedSuccessor(guid, successor is not None) if guid else None,
    )


@api(
    context=IMod,
    name="rehearsal",
    request_method="POST",
    permission=ModPermission.EDIT,
    operation=operations.REHEARSE_MOD,
)
def rehearsal_view(context: ModResource, request: Request) -> RehearsalDocument:
    """``POST /api/modhub/{id}/rehearsal``: changes nothing."""
    return rehearse(request, context.id)


@page(
    context=IOwnMod,
    containment=IMine,
    name="rehearsal",
    request_method="GET",
    permission=ModPermission.EDIT,
    renderer="modhub.catalogue:templates/workshop/rehearsal.jinja2",
)
def rehearsal_page(context: ModResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/mine/{id}/rehearsal``"""
    report = rehearse(request, context.id)
    install = [decode_mod(document) for document in report.install]
    titles = {document.guid.lower(): document.title for document in install}
    return {"report": report, "install": install, "titles": titles, "mod": install[-1]}
