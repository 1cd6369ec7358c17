"""The resources of files: assets, icons of games, and the smaller pictures of images."""

import re
from typing import Final

from zope.interface import implementer

from modhub.base.operations import Parameter
from modhub.plugins.resources import IAsset, IFiles, IGameIcon, IGameIcons, IPicture, IPictures
from modhub.web.traversal import Resource

_PICTURE_NAME: Final = re.compile(r"[0-9]{1,4}-[0-9a-f]{1,64}\.(?:jpg|webp)")


@implementer(IFiles)
class FilesResource(Resource):
    """``/Modhub/file``"""

    def get_member(self, name: str) -> "FileResource":
        """Return the file with this asset id."""
        return FileResource(self, name)


@implementer(IAsset)
class FileResource(Resource):
    """``/Modhub/file/{assetId}``"""

    segment = Parameter("assetId", "The number of the file.", int)


@implementer(IGameIcons)
class GameIconsResource(Resource):
    """``/Modhub/game-icon``"""

    def get_member(self, name: str) -> "GameIconResource":
        """Return the icon with this id."""
        return GameIconResource(self, name)


@implementer(IGameIcon)
class GameIconResource(FileResource):
    """``/Modhub/game-icon/{iconId}``"""


@implementer(IPictures)
class PicturesResource(Resource):
    """``/Modhub/picture``"""

    def get_member(self, name: str) -> "ImagePicturesResource":
        """Return the pictures of the image with this asset id."""
        return ImagePicturesResource(self, name)


@implementer(IPictures)
class ImagePicturesResource(Resource):
    """``/Modhub/picture/{assetId}``"""

    def get_member(self, name: str) -> "PictureResource":
        """Return the picture of this name."""
        return PictureResource(self, name)


@implementer(IPicture)
class PictureResource(Resource):
    """``/Modhub/picture/{assetId}/{name}``"""

    @property
    def asset_id(self) -> int | None:
        """The id of the image; None if the path segment is not a number."""
        assert self.__parent__ is not None
        return self.__parent__.id

    @property
    def name(self) -> str | None:
        """The name of the picture; None if no picture can have it, so that the database never sees it."""
        return self.__name__ if _PICTURE_NAME.fullmatch(self.__name__) else None
