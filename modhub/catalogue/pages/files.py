"""The workshop's files: uploads by forms, streamed into the store; images removed, and shown to their owner."""

from functools import partial
from typing import Any, Final

from pyramid.response import Response

from modhub import text
from modhub.blobs import stage
from modhub.catalogue import uploads
from modhub.catalogue.documents import is_picture
from modhub.catalogue.models import Kind
from modhub.catalogue.owners import caller, owned
from modhub.catalogue.pages.faults import field_of, told
from modhub.catalogue.pages.trimming import line_lost
from modhub.catalogue.pages.workshop import bench, done, form
from modhub.catalogue.resources import Image, Mod, ModPermission, Part
from modhub.catalogue.uploads import FALLBACKS, LIMITS, Upload
from modhub.downloads import file_response
from modhub.errors import Refusal, invalid
from modhub.interfaces import IAsset, IImages, IMine, IOwnMod
from modhub.limits import IMAGES
from modhub.pages import forms
from modhub.pages.keeping import told_to_script, wants_json
from modhub.pages.multipart import Form
from modhub.request import Request
from modhub.views import page

_BODIES: Final = {**LIMITS, Kind.IMAGE: IMAGES}
"""Bytes that all files of a form may have."""
AT_ONCE: Final = 20
"""Images in one form: each is a file to be synced."""

# The token is read from the stream, by Form.
streamed = partial(form, require_csrf=False)


@streamed(context=IOwnMod, name="code")
def upload_code(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/code``"""
    return _upload(context, request, Kind.CODE)


@streamed(context=IOwnMod, name="css")
def upload_css(context: Mod, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/css``"""
    return _upload(context, request, Kind.CSS)


@streamed(context=IImages)
def upload_image(context: Part, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/images``"""
    return _upload(context.mod, request, Kind.IMAGE)


def _upload(context: Mod, request: Request, kind: Kind) -> Any:
    typed: dict[str, str] = {}
    try:
        sent = Form(request, _BODIES[kind], typed)
        version = text.version(typed.get("version"))
        given = _staged(request, kind, sent, version)
        for one in given:
            uploads.upload(request.dbsession, context.id, caller(request), one)
    except Refusal as refusal:
        forms.refused(request, refusal)
        field, sentence = field_of(refusal, kind.value), told(request, refusal)
        if wants_json(request):
            return told_to_script(request, refusal, message=sentence, field=field)
        return bench(request, context.id, errors={field: sentence}, typed={"version": typed.get("version", "")})
    lost = ["version"] if version and line_lost(typed["version"], version) else []
    return done(context.id or 0, _stored(kind, given), lost, "#files")


def _stored(kind: Kind, given: list[Upload]) -> str:
    """What the page then says: not of everything that is sent as an image is it true that it is one."""
    if kind is Kind.IMAGE and not all(is_picture(one.content_type) for one in given):
        return "file" if len(given) == 1 else "files"
    return kind.value if len(given) == 1 else "images"


def _staged(request: Request, kind: Kind, sent: Form, version: str) -> list[Upload]:
    """The checks of the API; all files are staged before the session's first statement."""
    if kind is Kind.CODE and not version:
        raise invalid("A code upload needs a version.", field="version")
    if sent.file_name is None:
        raise invalid("Choose a file first.")
    given = [_one(request, kind, sent, version)]
    while kind is Kind.IMAGE and sent.next_file():
        if len(given) == AT_ONCE:
            raise invalid("At most %(most)s images can be sent at once. Nothing was kept.", most=AT_ONCE)
        given.append(_one(request, kind, sent, version))
    return given


def _one(request: Request, kind: Kind, sent: Form, version: str) -> Upload:
    if not sent.head:
        raise invalid("The file is empty.")
    shown = sent.content_type
    if kind is Kind.IMAGE and (not shown or shown == text.OCTET_STREAM):
        shown = text.sniff_image(sent.head) or shown
    # The name and the type stand before the bytes, and are gone behind them.
    name = text.file_name(sent.file_name, FALLBACKS[kind])
    blob = stage(request.tm, request.store, sent, LIMITS[kind])
    return Upload(kind, name, text.content_type(shown), blob, version)


@page(context=IAsset, containment=IMine, request_method="GET", permission=ModPermission.EDIT)
def show_image(context: Image, request: Request) -> Response:
    """``GET /Modhub/mine/{id}/images/{assetId}``: an image of a draft, for its owner alone."""
    file = owned(request).image(context.mod.id, context.id, caller(request))
    return file_response(request, request.store, file)


@form(context=IAsset, name="remove")
def remove_image(context: Image, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/remove``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, caller(request))
    return done(context.mod.id or 0, "image-removed", anchor="#files")
