"""A mod as the workshop shows it to its owner, whoever else sees it; read by :mod:`modhub.catalogue.owner_queries`."""

import re
from typing import Final

from modhub.catalogue.models import AssetKind
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.response_schemas import ModDocument, ModRow, asset_document, in_order, is_picture, mod_document

_OWN_FILE: Final = re.compile(r'(?<=src=")/Modhub/file/([0-9]{1,18})(?=")')


class OwnModPresenter(ModPresenter):
    """A mod for its owner, whoever else sees it."""

    def __init__(self, mod: ModRow) -> None:
        ordered = in_order(mod.assets)
        odd = {asset.id for asset in mod.assets if asset.kind == AssetKind.IMAGE and not is_picture(asset.content_type)}
        super().__init__(mod_document(mod), ",".join(map(str, odd)))
        self.assets = {asset.id: asset_document(asset) for asset in ordered}
        self.uploaded = [(asset.id, self.assets[asset.id]) for asset in ordered if asset.kind == AssetKind.IMAGE]
        """The number and the document of all that was uploaded as an image."""
        self.pictures = [one for one in self.uploaded if one[0] not in odd]
        self.others = [one for one in self.uploaded if one[0] in odd]
        self.sha256 = next((asset.sha256 for asset in mod.assets if asset.kind == AssetKind.CODE), None)
        self.votes = (mod.ups, mod.downs)
        self.hidden = mod.hidden_at is not None
        self.reason = mod.hidden_reason
        """Why the operator has hidden it, if a reason was given."""
        self.public = mod.published and not self.hidden
        """Whether it has a page that everybody sees."""

    @property
    def address(self) -> str:
        """The mod in the workshop."""
        return f"/Modhub/mine/{self.mod.id}"

    @property
    def image_bytes(self) -> int:
        """Bytes of all its images."""
        return sum(picture.bytes for _, picture in self.uploaded)

    def with_own_images(self, cleaned: str) -> str:
        """Cleaned HTML with the mod's images where their owner can see them: elsewhere a draft's are not to be had."""
        own = {str(asset_id) for asset_id, _ in self.uploaded}
        return _OWN_FILE.sub(
            lambda found: f"{self.address}/images/{found[1]}" if found[1] in own else found[0], cleaned
        )

    def as_shown(self) -> ModDocument:
        """The document as the preview shows it: images and own address where only the owner can see them."""
        document = self.mod
        for asset_id, picture in self.uploaded:
            picture.url = f"{self.address}/images/{asset_id}"
        document.assets = list(self.assets.values())
        document.description = self.with_own_images(document.description)
        document.url = f"{self.address}/preview"
        return document
