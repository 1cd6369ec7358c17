"""A mod as pages show it, derived from its document."""

import re
from binascii import crc32
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from modhub.catalogue.documents import AssetDocument, ModDocument, images_of, mod_document
from modhub.catalogue.models import Asset, AssetKind, Mod
from modhub.catalogue.pictures.models import PictureSet, is_shown
from modhub.content.folding import fold_game
from modhub.content.markup import summarize
from modhub.ui.accent import HUES
from modhub.ui.share_images import ShareImage

CARD_WIDTH: Final = 640
"""The width of the picture for browsers that do not choose one."""


class ImageFacts(msgspec.Struct, array_like=True, frozen=True):
    """What is stored about an image beside its document; ``digest`` and ``sizes`` are None while it has no pictures.

    ``problem`` is why, empty for a draft, which has pictures that nobody may see yet.
    """

    asset_id: int
    content_type: str
    caption: str | None = None
    digest: str | None = None
    sizes: str | None = None
    problem: str | None = None
    told: str | None = None
    """What its metadata tells (`PersonalData`), for its owner."""


def _facts_of(image: Asset, pictures: PictureSet | None, public: bool) -> ImageFacts:
    """What the statements say about an image; without the pictures of what is not public."""
    facts = ImageFacts(image.id, image.content_type, image.caption)
    if pictures is None:
        return facts
    if pictures.problem is None and not public:
        return replace(facts, problem="", told=pictures.told)
    return replace(facts, digest=pictures.digest, sizes=pictures.sizes, problem=pictures.problem, told=pictures.told)


@dataclass(frozen=True)
class ImagePresenter:
    """An image of a mod."""

    document: AssetDocument
    facts: ImageFacts | None

    @property
    def id(self) -> int | None:
        """The id of the asset; None if it is not known."""
        return None if self.facts is None else self.facts.asset_id

    @property
    def url(self) -> str:
        """The address of the image as uploaded."""
        return self.document.url

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.document.name

    @property
    def caption(self) -> str:
        """The owner's caption, empty if there is none."""
        return (self.facts and self.facts.caption) or ""

    @property
    def is_image(self) -> bool:
        """Whether pages show it (C-PIC-5)."""
        facts = self.facts
        has_pictures = facts is not None and (facts.digest is not None or facts.problem == "")
        return facts is None or is_shown(facts.content_type, facts.problem, has_pictures=has_pictures)

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """(width, height) of its derived pictures, smallest first; empty while there are none."""
        sizes = (self.facts and self.facts.sizes) or ""
        return [(int(width), int(height)) for width, height in [size.split("x") for size in sizes.split()]]

    def picture(self, width: int, extension: str) -> str:
        """Return the address of the picture of this width."""
        assert self.facts is not None
        return f"/Modhub/picture/{self.facts.asset_id}/{width}-{self.facts.digest}.{extension}"

    def srcset(self, extension: str) -> str:
        """Return the value of ``srcset``, smallest first."""
        return ", ".join([f"{self.picture(width, extension)} {width}w" for width, _ in self.sizes])

    @property
    def card(self) -> str:
        """The address of the picture for browsers that do not choose one, as JPEG."""
        fitting = [width for width, _ in self.sizes if width <= CARD_WIDTH]
        return self.picture(max(fitting, default=self.sizes[0][0]), "jpg")

    @property
    def large(self) -> str:
        """The address of the largest picture for the viewer, as WebP; empty if there is none."""
        return self.picture(self.sizes[-1][0], "webp") if self.sizes else ""

    @property
    def largest(self) -> tuple[str, int, int] | None:
        """(address, width, height) of the largest picture, as JPEG."""
        if not self.sizes:
            return None
        width, height = self.sizes[-1]
        return self.picture(width, "jpg"), width, height


Figure = tuple[str, str, int]
"""A number of a feature: its two msgids and its value, which is not 0."""


class ModPresenter:
    """Presents a mod: its document, values derived from it, and what a read of more than its document knows."""

    def __init__(
        self,
        mod: ModDocument,
        image_facts: Iterable[ImageFacts] = (),
        *,
        owner: int = 0,
        votes: tuple[int, int] = (0, 0),
        told: str = "",
        successor: int | None = None,
    ) -> None:
        self.mod = mod
        self.image_facts = {facts.asset_id: facts for facts in image_facts}
        self.owner = owner
        self.ups, self.downs = votes
        self.told = told
        """What its author wrote of the current version, as stored, for lists."""
        self.successor = successor
        """The id of the published mod that takes its place, for lists."""

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
    def uploaded_images(self) -> list[ImagePresenter]:
        """All files uploaded as images."""
        assets = [asset for asset in self.mod.assets if asset.kind == AssetKind.IMAGE]
        return [ImagePresenter(asset, self.image_facts.get(int(asset.url.rpartition("/")[2]))) for asset in assets]

    @cached_property
    def images(self) -> list[ImagePresenter]:
        """Files uploaded as images that pages show (C-PIC-5)."""
        return [image for image in self.uploaded_images if image.is_image]

    @cached_property
    def non_image_files(self) -> list[AssetDocument]:
        """Files uploaded as images that no browser shows; they are offered as downloads (C-PIC-5)."""
        return [image.document for image in self.uploaded_images if not image.is_image]

    @property
    def initials(self) -> str:
        """The first letter or digit of each of the first two words of the title, for a tile without a picture."""
        words = ("".join(filter(str.isalnum, word)) for word in self.mod.title.split())
        return "".join([word[0] for word in words if word][:2]).upper()

    @property
    def hue(self) -> int:
        """The colour of its tile, from 0: the same for all mods of a game."""
        return crc32(fold_game((self.mod.games or [self.mod.title])[0]).encode()) % len(HUES)

    def game_with_icon(self, games: Mapping[str, Any]) -> Any | None:
        """The first of its games that has an icon in ``games``, which are by folded name."""
        curated = (games.get(fold_game(game)) for game in self.mod.games)
        return next((game for game in curated if game and game.icon), None)

    def share_image(self, games: Mapping[str, Any]) -> ShareImage | None:
        """The picture of links to it: the largest of its first image, else the icon of a game; None without either."""
        if self.images:
            first = self.images[0]
            alt = first.caption or self.mod.title
            path, *size = first.largest or (first.url,)
            return ShareImage(path, alt, "image/jpeg" if size else "", *size)
        game = self.game_with_icon(games)
        return ShareImage(game.icon, self.mod.title) if game else None

    @property
    def size(self) -> int:
        """Bytes of the code file."""
        return self.code.bytes if self.code else 0


_IMAGE_SRC: Final = re.compile(r'(?<=src=")/Modhub/file/([0-9]{1,18})(?=")')


class OwnModPresenter(ModPresenter):
    """A mod for its owner, published or not."""

    def __init__(self, mod: Mod, pictures: Mapping[int, PictureSet], address: str = "") -> None:
        self.address = address or f"/Modhub/mine/{mod.id}"
        """The path below which its images and its preview are: in the workshop, or on pages of moderators."""
        self.hidden = mod.hidden_at is not None
        self.reason = mod.hidden_reason
        """The operator's reason for hiding it, if any."""
        self.public = mod.published and not self.hidden
        """Whether it has a public page."""
        facts = [_facts_of(image, pictures.get(image.id), self.public) for image in images_of(mod)]
        super().__init__(mod_document(mod), facts, owner=mod.owner, votes=(mod.ups, mod.downs))
        self.sha256 = next((asset.blob.sha256 for asset in mod.assets if asset.kind == AssetKind.CODE), None)

    @property
    def image_bytes(self) -> int:
        """Total bytes of its images."""
        return sum(image.document.bytes for image in self.uploaded_images)

    def with_own_images(self, cleaned: str) -> str:
        """Point the mod's images in cleaned HTML to :attr:`address`: only below it a draft's images are served."""
        asset_ids = {str(image.id) for image in self.uploaded_images}
        return _IMAGE_SRC.sub(
            lambda match: f"{self.address}/images/{match[1]}" if match[1] in asset_ids else match[0], cleaned
        )

    def preview_document(self) -> ModDocument:
        """Return the document for the preview, with the addresses of its images and page below :attr:`address`."""
        document = self.mod
        for image in self.uploaded_images:
            image.document.url = f"{self.address}/images/{image.id}"
        document.description = self.with_own_images(document.description)
        document.url = f"{self.address}/preview"
        return document
