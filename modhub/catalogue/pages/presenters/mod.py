"""A mod as pages show it, derived from its document."""

from binascii import crc32
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from modhub.catalogue.models import AssetKind
from modhub.catalogue.pages.presenters.images import ImagePresenter, decode_facts
from modhub.catalogue.response_schemas import AssetDocument, ModDocument, decode_mod
from modhub.content.folding import fold_game
from modhub.content.markup import summarize
from modhub.ui.share_images import ShareImage

HUES: Final = 6
"""Colours of tiles in the style sheet."""
Figure = tuple[str, str, int]
"""A number of a feature: its two msgids and its value, which is not 0."""


class ModPresenter:
    """Presents a mod: its document, values derived from it, and what a read of more than its document knows."""

    def __init__(
        self,
        document: ModDocument | bytes,
        image_facts: str | None = None,
        *,
        owner: int = 0,
        votes: tuple[int, int] = (0, 0),
        changed: datetime | None = None,
        figures: tuple[Figure, ...] = (),
        told: str = "",
    ) -> None:
        self.document = document
        self.image_facts = image_facts
        """The facts of its images, encoded, as part of cache keys."""
        self.owner = owner
        self.ups, self.downs = votes
        self.changed = changed
        """The time of the last change, for lists that need it without decoding the document."""
        self.figures = figures
        """What features count, for cards."""
        self.told = told
        """What its author wrote of the current version, as stored, for lists; part of cache keys."""

    @cached_property
    def mod(self) -> ModDocument:
        """The document, decoded on first use."""
        return decode_mod(self.document) if isinstance(self.document, bytes) else self.document

    @cached_property
    def summary(self) -> str:
        """The description as one plain line."""
        return summarize(self.mod.description)

    @cached_property
    def changes(self) -> str:
        """What is new in the current version as one plain line; empty if nobody has said it, or if it was not read."""
        return summarize(self.told)

    @cached_property
    def code(self) -> AssetDocument | None:
        """The code file."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CODE), None)

    @cached_property
    def css(self) -> AssetDocument | None:
        """The css file; the service does not use it."""
        return next((asset for asset in self.mod.assets if asset.kind == AssetKind.CSS), None)

    @cached_property
    def _uploaded_images(self) -> list[ImagePresenter]:
        facts = decode_facts(self.image_facts)
        assets = [asset for asset in self.mod.assets if asset.kind == AssetKind.IMAGE]
        return [ImagePresenter(asset, facts.get(int(asset.url.rpartition("/")[2]))) for asset in assets]

    @cached_property
    def images(self) -> list[ImagePresenter]:
        """Files uploaded as images that pages show (C-PIC-5)."""
        return [image for image in self._uploaded_images if image.is_image]

    @cached_property
    def non_image_files(self) -> list[AssetDocument]:
        """Files uploaded as images that no browser shows; they are offered as downloads (C-PIC-5)."""
        return [image.document for image in self._uploaded_images if not image.is_image]

    @property
    def initials(self) -> str:
        """The first letter or digit of each of the first two words of the title, for a tile without a picture."""
        words = ("".join(filter(str.isalnum, word)) for word in self.mod.title.split())
        return "".join([word[0] for word in words if word][:2]).upper()

    @property
    def hue(self) -> int:
        """The colour of its tile, from 0: the same for all mods of a game."""
        return crc32(fold_game((self.mod.games or [self.mod.title])[0]).encode()) % HUES

    def game_icon(self, games: Mapping[str, Any]) -> str | None:
        """The icon of the first of its games that has one in ``games``, which are by folded name."""
        curated = (games.get(fold_game(game)) for game in self.mod.games)
        return next((game.icon for game in curated if game and game.icon), None)

    def share_image(self, games: Mapping[str, Any]) -> ShareImage | None:
        """The picture of links to it: the largest of its first image, else the icon of a game; None without either."""
        if self.images:
            first = self.images[0]
            alt = first.caption or self.mod.title
            path, *size = first.largest or (first.url,)
            return ShareImage(path, alt, "image/jpeg" if size else "", *size)
        icon = self.game_icon(games)
        return ShareImage(icon, self.mod.title) if icon else None

    @property
    def size(self) -> int:
        """Bytes of the code file."""
        return self.code.bytes if self.code else 0
