"""A mod as the workshop shows it to its owner; read by :mod:`modhub.catalogue.owner_queries`."""

import re
from collections.abc import Mapping
from typing import Final

from modhub.catalogue.models import Asset, AssetKind, Mod
from modhub.catalogue.pages.presenters.images import encode_facts
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pictures.models import PictureSet, is_shown
from modhub.catalogue.response_schemas import ModDocument, asset_document, in_order, mod_document

_IMAGE_SRC: Final = re.compile(r'(?<=src=")/Modhub/file/([0-9]{1,18})(?=")')


class OwnImage:
    """A file that was uploaded as an image, in the workshop."""

    def __init__(self, asset: Asset, pictures: PictureSet | None) -> None:
        self.id = asset.id
        self.name = asset.name
        self.size = asset.size
        self.caption = asset.caption or ""
        problem = None if pictures is None else pictures.problem
        has_pictures = pictures is not None and problem is None
        self.is_image = is_shown(asset.content_type, problem, has_pictures=has_pictures)
        """Whether pages show it."""
        self.is_cut = problem == "cut"
        self.is_too_large = problem == "too_large"
        self.told = ((pictures and pictures.told) or "").split()
        """What its metadata tells (`PersonalData`)."""


class OwnModPresenter(ModPresenter):
    """A mod for its owner, published or not."""

    def __init__(self, mod: Mod, pictures: Mapping[int, PictureSet], address: str = "") -> None:
        self.address = address or f"/Modhub/mine/{mod.id}"
        """The path below which its images and its preview are: in the workshop, or on pages of moderators."""
        ordered = in_order(mod.assets)
        self.hidden = mod.hidden_at is not None
        self.reason = mod.hidden_reason
        """The operator's reason for hiding it, if any."""
        self.public = mod.published and not self.hidden
        """Whether it has a public page."""
        images = [asset for asset in ordered if asset.kind == AssetKind.IMAGE]
        facts = encode_facts(images, pictures, public=self.public)
        super().__init__(mod_document(mod), facts, owner=mod.owner, votes=(mod.ups, mod.downs))
        self.assets = {asset.id: asset_document(asset) for asset in ordered}
        self.uploaded = [(asset.id, self.assets[asset.id]) for asset in images]
        """(id, document) of every file uploaded as an image."""
        self.own_images = [OwnImage(asset, pictures.get(asset.id)) for asset in images]
        self.sha256 = next((asset.blob.sha256 for asset in mod.assets if asset.kind == AssetKind.CODE), None)

    @property
    def image_bytes(self) -> int:
        """Total bytes of its images."""
        return sum(picture.bytes for _, picture in self.uploaded)

    def with_own_images(self, cleaned: str) -> str:
        """Point the mod's images in cleaned HTML to :attr:`address`: only below it a draft's images are served."""
        asset_ids = {str(asset_id) for asset_id, _ in self.uploaded}
        return _IMAGE_SRC.sub(
            lambda match: f"{self.address}/images/{match[1]}" if match[1] in asset_ids else match[0], cleaned
        )

    def preview_document(self) -> ModDocument:
        """Return the document for the preview, with the addresses of its images and page below :attr:`address`."""
        document = self.mod
        for asset_id, picture in self.uploaded:
            picture.url = f"{self.address}/images/{asset_id}"
        document.assets = list(self.assets.values())
        document.description = self.with_own_images(document.description)
        document.url = f"{self.address}/preview"
        return document
