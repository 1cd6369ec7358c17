"""A mod as pages show it: what follows from its document."""

from collections.abc import Iterable
from functools import cached_property

import msgspec

from modhub.catalogue.models import AssetKind
from modhub.catalogue.response_schemas import AssetDocument, ModDocument
from modhub.markup import to_text

SUMMARY = 160
"""Characters of a card's summary."""
_SUMMARY_SOURCE = 12 * SUMMARY
"""Characters of HTML that are looked through for it."""
_decode = msgspec.json.Decoder(ModDocument).decode


def beginning(cleaned: str) -> str:
    """As much of cleaned HTML as a summary can need, without a tag that would be cut in two."""
    if len(cleaned) <= _SUMMARY_SOURCE:
        return cleaned
    part = cleaned[:_SUMMARY_SOURCE]
    opened = part.rfind("<")
    return part[:opened] if opened > part.rfind(">") else part


class ModPresenter:
    """A mod as pages show it: its document and what follows from it."""

    def __init__(self, document: ModDocument | bytes, odd: str | None = None) -> None:
        self.document = document
        self.odd = odd
        """The ids, joined by commas, of what was uploaded as an image and is none by its stored type."""

    @classmethod
    def each(cls, documents: Iterable[bytes]) -> "list[ModPresenter]":
        """The mods of these documents."""
        return [cls(document) for document in documents]

    @cached_property
    def mod(self) -> ModDocument:
        """The document, read when something of it is first asked for."""
        return _decode(self.document) if isinstance(self.document, bytes) else self.document

    @cached_property
    def summary(self) -> str:
        """The description as one plain line."""
        return to_text(beginning(self.mod.description), SUMMARY)

    @cached_property
    def code(self) -> AssetDocument | None:
        """The code file."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CODE), None)

    @cached_property
    def css(self) -> AssetDocument | None:
        """The css file; it has no effect anywhere."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CSS), None)

    @cached_property
    def _parted(self) -> tuple[list[AssetDocument], list[AssetDocument]]:
        odd = set((self.odd or "").split(","))
        parts: tuple[list[AssetDocument], list[AssetDocument]] = [], []
        for asset in self.mod.assets:
            if asset.kind == AssetKind.IMAGE:
                parts[asset.url.rpartition("/")[2] in odd].append(asset)
        return parts

    @property
    def images(self) -> list[AssetDocument]:
        """What was uploaded as an image and is one by its stored type, so that a browser may show it."""
        return self._parted[0]

    @property
    def papers(self) -> list[AssetDocument]:
        """What was uploaded as an image under another type; it is given out as a file (C-FILE-4)."""
        return self._parted[1]

    @property
    def size(self) -> int:
        """Bytes of the code file."""
        return self.code.bytes if self.code else 0
