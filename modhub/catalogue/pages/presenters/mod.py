"""A mod as pages show it, derived from its document."""

from collections.abc import Iterable
from functools import cached_property

import msgspec

from modhub.catalogue.models import AssetKind
from modhub.catalogue.response_schemas import AssetDocument, ModDocument
from modhub.markup import to_text

SUMMARY = 160
"""Characters of a summary."""
_SUMMARY_SOURCE = 12 * SUMMARY
"""Characters of HTML from which a summary is made."""
_decode = msgspec.json.Decoder(ModDocument).decode


def truncate_html(cleaned: str) -> str:
    """Cut cleaned HTML to what a summary needs, without splitting a tag."""
    if len(cleaned) <= _SUMMARY_SOURCE:
        return cleaned
    start = cleaned[:_SUMMARY_SOURCE]
    last_tag = start.rfind("<")
    return start[:last_tag] if last_tag > start.rfind(">") else start


class ModPresenter:
    """Presents a mod: its document and values derived from it."""

    def __init__(self, document: ModDocument | bytes, non_image_ids: str | None = None) -> None:
        self.document = document
        self.non_image_ids = non_image_ids
        """Comma-separated ids of files uploaded as images whose stored type is not an image type."""

    @classmethod
    def each(cls, documents: Iterable[bytes]) -> "list[ModPresenter]":
        """Return presenters of these documents."""
        return [cls(document) for document in documents]

    @cached_property
    def mod(self) -> ModDocument:
        """The document, decoded on first use."""
        return _decode(self.document) if isinstance(self.document, bytes) else self.document

    @cached_property
    def summary(self) -> str:
        """The description as one plain line."""
        return to_text(truncate_html(self.mod.description), SUMMARY)

    @cached_property
    def code(self) -> AssetDocument | None:
        """The code file."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CODE), None)

    @cached_property
    def css(self) -> AssetDocument | None:
        """The css file; the service does not use it."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CSS), None)

    @cached_property
    def _images_by_type(self) -> tuple[list[AssetDocument], list[AssetDocument]]:
        non_image_ids = set((self.non_image_ids or "").split(","))
        by_type: tuple[list[AssetDocument], list[AssetDocument]] = [], []
        for asset in self.mod.assets:
            if asset.kind == AssetKind.IMAGE:
                by_type[asset.url.rpartition("/")[2] in non_image_ids].append(asset)
        return by_type

    @property
    def images(self) -> list[AssetDocument]:
        """Files uploaded as images whose stored type is an image type, so that a browser may show them."""
        return self._images_by_type[0]

    @property
    def non_image_files(self) -> list[AssetDocument]:
        """Files uploaded as images with another type; they are offered as downloads (C-FILE-4)."""
        return self._images_by_type[1]

    @property
    def size(self) -> int:
        """Bytes of the code file."""
        return self.code.bytes if self.code else 0
