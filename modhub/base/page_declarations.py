"""What features declare about images of mods on pages; made by the directives."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImageLink:
    """A link below each image of a mod: ``text`` is a msgid, ``address(mod_id, asset_id)`` returns a path."""

    name: str
    text: str
    address: Callable[[int, int], str]
