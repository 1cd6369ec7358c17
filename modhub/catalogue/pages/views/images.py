"""The workshop's images: their order, their captions, and copies without metadata."""

import io
from typing import Any

from pyramid.response import Response

from modhub.base.errors import invalid
from modhub.catalogue import images, uploads
from modhub.catalogue.image_metadata import read_stored, replace_image
from modhub.catalogue.images import ImageMove
from modhub.catalogue.owner_queries import read_own_image
from modhub.catalogue.owner_views import account_id_of
from modhub.catalogue.pages.presenters.truncation import is_line_truncated
from modhub.catalogue.pages.views.workshop import form, workshop_done
from modhub.catalogue.resources import ImageResource, ModPermission, ModResource
from modhub.content.limits import IMAGE
from modhub.plugins.resources import IAsset, IMine, IOwnMod
from modhub.plugins.services import ISquarePictures
from modhub.web.downloads import file_response
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.uploads import stage_upload
from modhub.web.views import page

_MOVES = {move.value: move for move in ImageMove}


@page(context=IAsset, containment=IMine, request_method="GET", permission=ModPermission.EDIT)
def show_image_page(context: ImageResource, request: Request) -> Response:
    """``GET /Modhub/mine/{id}/images/{assetId}``: an image of a draft, for its owner only."""
    file = read_own_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return file_response(request, request.store, file)


@form(context=IAsset, name="remove")
def delete_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/remove``"""
    uploads.remove_image(request.dbsession, context.mod.id, context.id, account_id_of(request))
    return workshop_done(context.mod.id or 0, "image-removed", part="images")


@form(context=IAsset, name="clean")
def clean_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/clean``: a copy without metadata takes the place of the image."""
    owner = account_id_of(request)
    with request.databases.readonly_session() as session:
        file = read_own_image(session, context.mod.id, context.id, owner)
    content = read_stored(request.store, file.key, file.size, file.sha256)
    stripped = request.find_service(ISquarePictures).copy(io.BytesIO(content))
    # Staged before the first statement: no lock may wait for a slow disk.
    blob = stage_upload(request, io.BytesIO(stripped), IMAGE)
    image = replace_image(request.dbsession, context.mod.id, context.id, owner, blob)
    return workshop_done(context.mod.id or 0, "image-cleaned", part="images", anchor=f"#image-{image.id}")


@form(context=IAsset, name="move")
def move_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/move``: ``to`` is ``first``, ``earlier`` or ``later``."""
    move = _MOVES.get(request.POST.get("to", ""))
    if move is None:
        raise invalid("The field %(field)s must be first, earlier or later.", field="to")
    images.move_image(request.dbsession, context.mod.id, context.id, account_id_of(request), move)
    return workshop_done(context.mod.id or 0, "order", part="images", anchor=f"#image-{context.id}")


@form(context=IAsset, name="caption", preserve_fields={"caption": "Caption"})
def caption_image_page(context: ImageResource, request: Request) -> Response:
    """``POST /Modhub/mine/{id}/images/{assetId}/caption``: too long text is cut off, an empty one removes it."""
    submitted = request.POST.get("caption", "")
    stored = images.caption_image(request.dbsession, context.mod.id, context.id, account_id_of(request), submitted)
    truncated = ["caption"] if is_line_truncated(submitted, stored) else []
    return workshop_done(context.mod.id or 0, "caption", truncated, "images", f"#image-{context.id}")


@form(context=IOwnMod, name="image-order")
def order_images_page(context: ModResource, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/image-order``: ``order`` has the asset ids, separated by spaces."""
    ids = [parse_id(word) for word in request.POST.get("order", "").split()]
    known_ids = [asset_id for asset_id in ids if asset_id is not None]
    if not known_ids or len(known_ids) < len(ids):
        raise invalid("The field %(field)s must list the numbers of the images.", field="order")
    images.order_images(request.dbsession, context.id, account_id_of(request), known_ids)
    return workshop_done(context.id or 0, "order", part="images")
