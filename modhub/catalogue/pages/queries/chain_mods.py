"""Mods of an install chain, as a page lists them: a few fields of each, however long their texts are."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from modhub.catalogue.models import AssetKind


class _File(msgspec.Struct, gc=False):
    kind: str
    bytes: int


class _Document(msgspec.Struct):
    id: int
    title: str
    version: str
    url: str
    assets: list[_File]


class ChainMod(NamedTuple):
    """A mod that is to be installed; hashable, as part of a fragment's cache key."""

    id: int
    title: str
    version: str
    url: str
    size: int
    """Bytes of the code file, 0 without one."""
    has_code: bool


CHAIN_SHOWN: Final = 100
"""Required mods that a page lists: nobody installs more by hand, and thousands would take seconds."""
_Stored = TypeVar("_Stored")


def shown_of_chain(chain: Sequence[_Stored]) -> list[_Stored]:
    """The part of an install chain that a page lists: the first ones, and the mod itself, which is the last."""
    return [*chain[:-1][:CHAIN_SHOWN], *chain[-1:]]


_decode = msgspec.json.Decoder(_Document).decode


def chain_mods(documents: Iterable[bytes]) -> tuple[ChainMod, ...]:
    """Decode documents one by one."""
    return tuple(map(_chain_mod, documents))


def _chain_mod(document: bytes) -> ChainMod:
    mod = _decode(document)
    code = next((file for file in mod.assets if file.kind == AssetKind.CODE), None)
    return ChainMod(mod.id, mod.title, mod.version, mod.url, code.bytes if code else 0, code is not None)
