"""Request bodies of the catalogue, and the cleaning of their fields (C-MOD-1; C-TXT-1)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, ClassVar, Final, Literal

from msgspec import UNSET, Struct, UnsetType

from modhub.base.errors import invalid
from modhub.base.operations import about
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.limits import GUIDS
from modhub.content.markup import clean
from modhub.content.text import N_

GUID: Final = re.compile(r"\A[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


def fold_guid(guid: str) -> str:
    """Return the canonical form of a GUID: GUIDs are compared without regard to case."""
    return guid.lower()


def remove_duplicates(guids: Iterable[str]) -> list[str]:
    """Remove duplicates; the first spelling and position of each GUID remain."""
    first: dict[str, str] = {}
    for guid in guids:
        first.setdefault(fold_guid(guid), guid)
    return list(first.values())


def check_references(
    own_guid: str,
    requires: list[str] | None,
    conflicts: list[str] | None,
    stored: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> tuple[list[str] | None, list[str] | None]:
    """Return the two lists to store, without duplicates; None for a list that was not sent.

    GUIDs are compared without regard to case. Both lists are checked together; for one that was not sent, that of
    ``stored`` is used. 400 if a rule is violated.
    """
    requires = _clean("requires", requires, own_guid)
    conflicts = _clean("conflictsWith", conflicts, own_guid)
    folded = set(map(fold_guid, stored[0] if requires is None else requires))
    in_both = [guid for guid in (stored[1] if conflicts is None else conflicts) if fold_guid(guid) in folded]
    if in_both:
        names = {"other": "requires", "field": "conflictsWith"}
        raise invalid("The GUID %(guid)s is listed in both %(other)s and %(field)s.", guid=in_both[0], **names)
    return requires, conflicts


def _clean(name: str, guids: list[str] | None, own_guid: str) -> list[str] | None:
    if guids is None:
        return None
    for position, guid in enumerate(guids, 1):
        if not GUID.match(guid):
            message = N_("In %(field)s, item %(item)s is not a GUID such as 01234567-89ab-cdef-0123-456789abcdef.")
            raise invalid(message, field=name, item=position)
    unique = remove_duplicates(guids)
    if own_guid in map(fold_guid, unique):
        raise invalid("A mod cannot list its own GUID in %(field)s.", field=name)
    if len(unique) > GUIDS:
        message = N_("%(field)s may list at most %(most)s GUIDs; there are %(count)s.")
        raise invalid(message, most=GUIDS, field=name, count=len(unique))
    return unique


OptionalText = str | None | UnsetType
OptionalTexts = list[str] | None | UnsetType
MAX_GAMES_EXAMINED: Final = 50 * limits.GAMES
"""How many different entries of a list of games are examined."""


def _title(value: str) -> str:
    title = text.line(value, limits.TITLE)
    if not title:
        raise invalid("The field %(field)s must not be empty.", field="title")
    return title


def clean_games(games: list[str]) -> list[str]:
    """Trim the names, drop empty ones and duplicates (by folded name), and return the first 20 (C-MOD-6).

    Only the beginning of an overlong list is examined: cleaning a whole body of names takes seconds.
    """
    unique: dict[str, str] = {}
    for game in islice(dict.fromkeys(games), MAX_GAMES_EXAMINED):
        name = text.line(game, limits.GAME)
        if name:
            unique.setdefault(fold_game(name), name)
        if len(unique) == limits.GAMES:
            break
    return list(unique.values())


@dataclass(frozen=True, slots=True)
class CleanedMod:
    """The cleaned fields of a mod; None for a field that was not sent.

    Build it before the first statement: cleaning takes milliseconds and should not hold a lock. The lists of GUIDs are
    as sent: checking them needs the mod (:func:`modhub.catalogue.bodies.check_references`).
    """

    title: str | None
    description: str | None
    games: list[str] | None
    requires: list[str] | None
    conflicts: list[str] | None


@dataclass(frozen=True, slots=True)
class CleanedNote:
    """The cleaned fields of a changelog entry; ``UNSET`` for a field that was not sent, None to clear the title."""

    title: str | UnsetType | None
    text: str | UnsetType


class ModChange(Struct, rename="camel"):
    """``PUT /api/modhub/{id}``: only fields that were sent are changed."""

    title: Annotated[OptionalText, about("Not empty", "Café HUD")] = UNSET
    description: Annotated[
        OptionalText,
        about("[HTML](#html); empty when not sent with a new mod", "<p>A calm <b>HUD</b>.</p>"),
    ] = UNSET
    games: Annotated[OptionalTexts, about("Empty when not sent with a new mod", ["Portal 2"])] = UNSET
    requires: Annotated[
        OptionalTexts,
        about(
            "GUIDs as `01234567-89ab-cdef-0123-456789abcdef`, any capitals, stored as sent; doubles are "
            "merged whatever their capitals, the first stays",
            ["01234567-89ab-cdef-0123-456789abcdef"],
        ),
    ] = UNSET
    conflicts_with: Annotated[OptionalTexts, about("As `requires`; no GUID may be in both", [])] = UNSET

    def cleaned(self) -> CleanedMod:
        """Clean the fields; 400 for an empty title."""
        return CleanedMod(
            self.clean_title(),
            clean(self.description, limits.DESCRIPTION) if isinstance(self.description, str) else None,
            clean_games(self.games) if isinstance(self.games, list) else None,
            self.requires if isinstance(self.requires, list) else None,
            self.conflicts_with if isinstance(self.conflicts_with, list) else None,
        )

    def clean_title(self) -> str | None:
        """Clean the title; None if it was not sent."""
        return _title(self.title) if isinstance(self.title, str) else None


class NewMod(ModChange, kw_only=True):
    """``POST /api/modhub``: the title is required."""

    title: Annotated[str, about("Not empty", "Café HUD")]


class NoteChange(Struct):
    """``PUT /api/modhub/{id}/changelog/{noteId}``: ``null`` clears the title (C-NOTE-3)."""

    nullable: ClassVar[frozenset[str]] = frozenset({"title"})

    title: Annotated[OptionalText, about(f"Trimmed to {limits.TITLE} characters; null clears it", "1.4")] = UNSET
    text: Annotated[
        OptionalText,
        about(f"[HTML](#html), cut at {limits.NOTE:,} characters; may be empty", "<p>Fewer lines.</p>"),
    ] = UNSET

    def cleaned(self) -> CleanedNote:
        """Clean the fields."""
        return CleanedNote(
            (text.line(self.title, limits.TITLE) or None) if isinstance(self.title, str) else self.title,
            clean(self.text, limits.NOTE) if isinstance(self.text, str) else UNSET,
        )


class CaptionChange(Struct, rename="camel"):
    """The caption of one image; empty to remove it."""

    asset_id: Annotated[int, about("The number of an image of the mod", 58)]
    caption: Annotated[
        str,
        about(f"Plain text, cut at {limits.CAPTION} characters; empty to remove it", "The calm layout"),
    ]


class CaptionsChange(Struct):
    """``PUT /api/modhub/{id}/captions``: only images that are listed are changed."""

    captions: Annotated[list[CaptionChange], about("The images to change, each once; the others stay")]

    def by_image(self) -> dict[int, str]:
        """Return the captions by asset id; 400 if an image is listed twice."""
        captions = {change.asset_id: change.caption for change in self.captions}
        if len(captions) < len(self.captions):
            raise invalid("The field %(field)s lists an image twice.", field="captions")
        return captions


class OrderChange(Struct, rename="camel"):
    """``PUT /api/modhub/{id}/order``"""

    asset_ids: Annotated[
        list[int],
        about("The numbers of all images of the mod, each once, in the order that they get", [58]),
    ]


class SuccessorChange(Struct):
    """``PUT /api/modhub/{id}/superseded``: a GUID or an address; ``null`` clears it."""

    by: Annotated[
        str | None,
        about("A GUID, an address on this site, or null for none", "01234567-89ab-cdef-0123-456789abcdef"),
    ]


class TextPreview(Struct):
    """``POST /api/modhub/{id}/preview``: a description or an entry of the changelog as its owner wrote it."""

    text: Annotated[str, about("The text as it was written", "A **calm** HUD.")]
    format: Annotated[
        Literal["text", "markdown", "html"] | None,
        about("How it was written; without it the text tells", "markdown"),
    ] = None
    """None: the text tells."""
    field: Annotated[
        Literal["description", "changelog"] | None,
        about("`description` (when not sent) or `changelog`, whose limits differ", "description"),
    ] = None


class VoteChange(Struct):
    """``PUT /api/modhub/{id}/vote``"""

    value: Annotated[
        float,
        about("1 for, -1 against, 0 to withdraw it; `1.0` is 1", 1, enum=[1, 0, -1]),
    ]

    def vote(self) -> int:
        """Return 1, 0 or -1; floats such as 1.0 are accepted. 400 for other values."""
        if self.value not in {1, 0, -1}:
            raise invalid("The field %(field)s must be 1, 0 or -1.", field="value")
        return int(self.value)
