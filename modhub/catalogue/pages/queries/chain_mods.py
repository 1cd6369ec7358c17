"""Mods of an install chain, as a page lists them: a few facts of each, none of their texts."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import select

from modhub.blobs.models import StoredBlob
from modhub.catalogue.chains import install_order
from modhub.catalogue.document_queries import chains_statement
from modhub.catalogue.models import Asset, AssetKind, Mod
from modhub.catalogue.queries import AnySelect
from modhub.catalogue.response_schemas import ModDocument
from modhub.db.raw_queries import Row

CHAIN_SHOWN: Final = 100
"""Required mods that a page lists: nobody installs more by hand, and thousands would take seconds."""


class ChainMod(NamedTuple):
    """A mod that is to be installed; hashable, as part of a fragment's cache key."""

    id: int
    title: str
    version: str
    url: str
    size: int
    """Bytes of the code file, 0 without one."""
    has_code: bool


class ChainPart(NamedTuple):
    """The mods to install in order, the mod itself last; how many of them are left out; the missing GUIDs."""

    mods: tuple[ChainMod, ...]
    hidden: int
    missing: tuple[str, ...]


def _columns(mod: Any) -> list[Any]:
    """What the mod requires, and what `ChainMod` needs."""
    title, version = (select(column).where(Mod.id == mod.id).scalar_subquery() for column in (Mod.title, Mod.version))
    code = select(StoredBlob.size).join(Asset, Asset.blob_id == StoredBlob.id)
    code = code.where(Asset.mod_id == mod.id, Asset.kind == AssetKind.CODE.value)
    return [mod.requires, mod.id, title, version, code.scalar_subquery()]


def chain_statement(dialect: str) -> AnySelect:
    """(GUID, what it requires, columns of `ChainMod`) of the mods ``guids`` and all that they require."""
    return chains_statement(dialect, _columns)


def chain_part(mod: ModDocument, rows: Sequence[Row]) -> ChainPart:
    """Return what to install for a mod, from the rows of `chain_statement` of what it requires."""
    by_guid = {row[0]: row for row in rows if row[1] is not None}
    requires = {mod.guid: mod.requires, **{guid: row[1].split() for guid, row in by_guid.items()}}
    order, missing = install_order([mod.guid], requires)
    shown = [_chain_mod(*by_guid[guid][2:]) for guid in order[:-1][:CHAIN_SHOWN]]
    code = next((file.bytes for file in mod.assets if file.kind == AssetKind.CODE), None)
    own = _chain_mod(mod.id, mod.title, mod.version, code)
    return ChainPart((*shown, own), len(order) - 1 - len(shown), tuple(missing))


def _chain_mod(mod_id: int, title: str, version: str, size: int | None) -> ChainMod:
    return ChainMod(mod_id, title, version, f"/Modhub/{mod_id}", size or 0, size is not None)
