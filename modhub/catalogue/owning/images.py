"""The order and the captions that owners give their images.

Both are columns of the asset, NULL at first. Images without a position follow the others in the order of upload, so an
upload needs no look at the order.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy.orm import Session

from modhub.audit import record
from modhub.base.errors import OwnershipLost, invalid
from modhub.catalogue.documents import images_of
from modhub.catalogue.models import Asset, Mod
from modhub.catalogue.owning.services import own_mod, record_change
from modhub.content import limits, text


def find_image(mod: Mod, asset_id: int | None) -> Asset:
    """Return the image with this id; :class:`OwnershipLost` if it was deleted after the ACL check."""
    image = next((image for image in images_of(mod) if image.id == asset_id), None)
    if image is None:
        raise OwnershipLost
    return image


def order_images(session: Session, mod_id: int | None, owner: int, asset_ids: Sequence[int]) -> None:
    """Put the images into this order; those that are not listed follow. Ids that are none of them do not count.

    Without a real change ``updated_at`` stays (C-MOD-13).
    """
    mod = own_mod(session, mod_id, owner)
    images = images_of(mod)
    by_id = {image.id: image for image in images}
    listed = [by_id[asset_id] for asset_id in dict.fromkeys(asset_ids) if asset_id in by_id]
    ordered = [*listed, *(image for image in images if image not in listed)]
    if ordered == images:
        return
    place_images(ordered)
    record(session, "images reordered", "mod", mod.id)
    record_change(session, mod)


def order_all_images(session: Session, mod_id: int | None, owner: int, asset_ids: Sequence[int]) -> Mod:
    """Put the images into this order and return the mod. 400 unless each image is listed once."""
    mod = own_mod(session, mod_id, owner)
    if sorted(asset_ids) != sorted(image.id for image in images_of(mod)):
        raise invalid("The new order must list each image of this mod once.")
    order_images(session, mod_id, owner, asset_ids)
    return mod


def place_images(images: Iterable[Asset]) -> None:
    """Give all images of a mod this order."""
    for position, image in enumerate(images):
        image.position = position


def caption_images(session: Session, mod_id: int | None, owner: int, captions: Mapping[int, str]) -> Mod:
    """Set these captions, by asset id, and return the mod. 400 for an id that is not one of its images."""
    mod = own_mod(session, mod_id, owner)
    by_id = {image.id: image for image in images_of(mod)}
    if not by_id.keys() >= captions.keys():
        raise invalid("The captions name an image that this mod does not have.")
    changed = [asset_id for asset_id, caption in captions.items() if _set_caption(session, by_id[asset_id], caption)]
    if changed:
        record_change(session, mod)
    return mod


def _set_caption(session: Session, image: Asset, caption: str) -> bool:
    """Whether that changes it."""
    cleaned = text.line(caption, limits.CAPTION)
    if cleaned == (image.caption or ""):
        return False
    image.caption = cleaned or None
    record(session, "image caption changed", "mod", image.mod_id, asset=image.id)
    return True
