"""The images of a mod as pages show them: with their captions, and in the sizes that are there."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from modhub.catalogue.models import Asset
from modhub.catalogue.pictures.models import PictureSet, is_shown
from modhub.catalogue.response_schemas import AssetDocument

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


_decode = msgspec.json.Decoder(list[ImageFacts]).decode


def encode_facts(images: Iterable[Asset], pictures: Mapping[int, PictureSet], *, public: bool) -> str:
    """Return the facts of these images as the statements do; without the pictures of what is not public."""
    return msgspec.json.encode([_facts_of(image, pictures.get(image.id), public) for image in images]).decode()


def _facts_of(image: Asset, pictures: PictureSet | None, public: bool) -> ImageFacts:
    facts = ImageFacts(image.id, image.content_type, image.caption)
    if pictures is None:
        return facts
    if pictures.problem is None and not public:
        return replace(facts, problem="")
    return replace(facts, digest=pictures.digest, sizes=pictures.sizes, problem=pictures.problem)


def decode_facts(encoded: str | None) -> dict[int, ImageFacts]:
    """Return the facts by asset id."""
    return {facts.asset_id: facts for facts in _decode(encoded or "[]")}


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
        return [(int(width), int(height)) for width, _, height in (size.partition("x") for size in sizes.split())]

    def picture(self, width: int, extension: str) -> str:
        """Return the address of the picture of this width."""
        assert self.facts is not None
        return f"/Modhub/picture/{self.facts.asset_id}/{width}-{self.facts.digest}.{extension}"

    def srcset(self, extension: str) -> str:
        """Return the value of ``srcset``, smallest first."""
        return ", ".join(f"{self.picture(width, extension)} {width}w" for width, _ in self.sizes)

    @property
    def card(self) -> str:
        """The address of the picture for browsers that do not choose one, as JPEG."""
        widths = [width for width, _ in self.sizes]
        return self.picture(max((width for width in widths if width <= CARD_WIDTH), default=widths[0]), "jpg")

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
