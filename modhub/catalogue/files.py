"""The resources of files: assets, icons of games, and the smaller pictures of images."""

import re
from collections.abc import Collection
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session
from zope.interface import implementer

from modhub.base.operations import Parameter
from modhub.catalogue.models import Asset, Game, GameIcon, KeptFile, Mod
from modhub.catalogue.pictures.models import PictureFile
from modhub.plugins.resources import IAsset, IFiles, IGameIcon, IGameIcons, IPicture, IPictures, ISizedPicture
from modhub.web.traversal import Resource


def describe_mod_files(session: Session, blob_ids: Collection[int]) -> dict[int, str]:
    """``code hud.zip of mod 12 "Better HUD", account 7`` or ``icon of the game "Portal"``, by the blob's id."""
    assets = select(Asset.blob_id, Asset.kind, Asset.name, Mod.id, Mod.title, Mod.owner)
    assets = assets.join(Mod, Mod.id == Asset.mod_id).where(Asset.blob_id.in_(blob_ids))
    names = {
        blob_id: f'{kind} {name} of mod {mod_id} "{title}", account {owner}'
        for blob_id, kind, name, mod_id, title, owner in session.execute(assets)
    }
    kept = select(KeptFile.blob_id, KeptFile.kind, KeptFile.name, KeptFile.mod_id)
    for blob_id, kind, name, mod_id in session.execute(kept.where(KeptFile.blob_id.in_(blob_ids))):
        names[blob_id] = f"{kind} {name} of mod {mod_id}, which a moderator removed"
    icons = select(GameIcon.blob_id, Game.name).join(Game, Game.id == GameIcon.game_id)
    for blob_id, name in session.execute(icons.where(GameIcon.blob_id.in_(blob_ids))):
        names[blob_id] = f'icon of the game "{name}"'
    pictures = select(PictureFile.blob_id, PictureFile.name, PictureFile.asset_id)
    for blob_id, name, asset_id in session.execute(pictures.where(PictureFile.blob_id.in_(blob_ids))):
        names[blob_id] = f"smaller picture {name} of the image /Modhub/file/{asset_id}; pictures rebuild makes it again"
    return names


_WIDTHS: Final = frozenset({"320", "640", "1280"})
_PICTURE_NAME: Final = re.compile(r"[0-9]{1,4}-[0-9a-f]{1,64}\.(?:jpg|webp)")


@implementer(IAsset)
class FileResource(Resource):
    """``/Modhub/file/{assetId}``: what ``reading.statements.ASSET`` finds, no file of a draft or hidden mod.

    Its owner sees those in the workshop (``owning.reads.read_own_image``), a moderator by the case.
    """

    segment = Parameter("assetId", "The number of the file.", int)


@implementer(IFiles)
class FilesResource(Resource):
    """``/Modhub/file``"""

    member = FileResource


@implementer(IGameIcon)
class GameIconResource(FileResource):
    """``/Modhub/game-icon/{iconId}``"""


@implementer(IGameIcons)
class GameIconsResource(Resource):
    """``/Modhub/game-icon``"""

    member = GameIconResource


@implementer(IPictures)
class ImagePicturesResource(Resource):
    """``/Modhub/picture/{assetId}``"""

    segment = Parameter("assetId", "The number of the image.", int)

    def get_member(self, name: str) -> "SizedPictureResource | PictureResource":
        """Return the picture of this width, or of this name."""
        return SizedPictureResource(self, name) if name in _WIDTHS else PictureResource(self, name)


@implementer(IPictures)
class PicturesResource(Resource):
    """``/Modhub/picture``"""

    member = ImagePicturesResource


@implementer(ISizedPicture)
class SizedPictureResource(Resource):
    """``/Modhub/picture/{assetId}/{width}``"""

    segment = Parameter("width", "320 or 640, which are cut to 16:9, or 1280, the whole image.", int)


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
