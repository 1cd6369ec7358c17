"""What a stored file is, for the operator: whose mod, or which game."""

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.catalogue.models import Asset, Game, GameIcon, KeptFile, Mod
from modhub.catalogue.pictures.models import PictureFile


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
