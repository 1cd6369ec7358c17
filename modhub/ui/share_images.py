"""The picture that other sites show beside a link to a page (Open Graph)."""

from dataclasses import dataclass
from typing import Any, Final

from modhub.base.service_registry import find_service
from modhub.ui.site_settings import MARK_ASSET
from modhub.ui.static_files import StaticFiles

LARGE_WIDTH: Final = 600
"""From this width on a picture is shown above the text, else as a small one beside it."""
_ICON: Final = "modhub:icon-512.png"
_ICON_SIDE: Final = 512


@dataclass(frozen=True, slots=True)
class ShareImage:
    """A picture: its path, what it shows, its media type, and its size in pixels (0 if that is not known)."""

    path: str
    alt: str
    media_type: str = ""
    width: int = 0
    height: int = 0

    @property
    def is_large(self) -> bool:
        """Whether it is shown above the text."""
        return self.width >= LARGE_WIDTH


def site_image(registry: Any) -> ShareImage:
    """The operator's mark, else the icon of the service."""
    files, name = find_service(registry, StaticFiles), str(registry.settings["modhub.site_name"])
    if files.has(MARK_ASSET):
        return ShareImage(files.address(MARK_ASSET), name, files.by_asset[MARK_ASSET].content_type)
    return ShareImage(files.address(_ICON), name, "image/png", _ICON_SIDE, _ICON_SIDE)
