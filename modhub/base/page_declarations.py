"""What features declare about lists, cards and images of mods on pages; made by the directives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class PageOrder:
    """An order of the mods on pages: by ``value``, highest first; of equal ones the mod created last comes first.

    ``mod_id`` and ``value`` are columns of one table with at most one row a mod. Mods without a row follow, the last
    updated first. Compared by identity: columns have no other equality.
    """

    name: str
    title: str
    mod_id: Any
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class PageFilter:
    """A filter of the mods on pages: those that have the value in the query parameter ``name``.

    ``mod_id`` and ``value`` are columns of one table with at most one row for a mod and a value. ``unset`` is the name
    of no choice. ``labels(request)`` returns the values to choose from with what readers see, in this order and in at
    most one statement. Compared by identity, as :class:`PageOrder`.
    """

    name: str
    title: str
    unset: str
    mod_id: Any
    value: Any
    labels: Callable[[Any], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class FrontExclusion:
    """Mods that the rows of the front leave out: those with a row in the table of ``mod_id`` that meets ``condition``.

    Lists, searches, feeds and the API have them as all others.
    """

    name: str
    mod_id: Any
    condition: Any


@dataclass(frozen=True, slots=True, eq=False)
class CardFigure:
    """A number on the card of a mod, summed on its author's page: ``value`` of a table with at most one row a mod.

    It is not shown if it is 0.

    ``singular`` and ``plural`` are msgids with ``%(num)s``, which are translated together.
    """

    name: str
    singular: str
    plural: str
    mod_id: Any
    value: Any


@dataclass(frozen=True, slots=True)
class ImageLink:
    """A link below each image of a mod: ``text`` is a msgid, ``address(mod_id, asset_id)`` returns a path."""

    name: str
    text: str
    address: Callable[[int, int], str]
