"""The cards of lists, and the same mods as entries of feeds: pieces that are drawn once for each state of a mod."""

from typing import Any, Final, NamedTuple

from markupsafe import Markup

from modhub.catalogue.pages.reading import Card, Games
from modhub.catalogue.pages.shown import Shown
from modhub.catalogue.pages.updates import Update
from modhub.folding import fold_game
from modhub.pages.tools import Tools

CARD: Final = "modhub:templates/catalogue/card.jinja2"
ENTRY: Final = "modhub:templates/catalogue/entry.jinja2"


class Face(NamedTuple):
    """All of a mod that its card shows."""

    document: bytes
    odd: str | None
    author: str | None
    ups: int
    downs: int

    @property
    def shown(self) -> Shown:
        """What the document says; for one drawing, since it is read anew each time."""
        return Shown(self.document, self.odd)


def face_of(card: Card) -> Face:
    """The face of a card of a list."""
    return Face(card.face, card.odd, card.author, card.ups, card.downs)


def draw_card(ui: Tools, card: Card, games: Games, eager: bool = False) -> Markup:
    """The card; ``eager``: its picture is seen at once, so it is not loaded lazily."""
    assert card.changed is not None
    # How long ago it was, in words, stands for the time that goes by.
    said = ui.ago(card.changed)
    values: dict[str, Any] = {"changed": card.changed, "said": said, "games": games, "fold_game": fold_game}
    return ui.piece(CARD, face=face_of(card), eager=eager, **values)


def draw_entry(ui: Tools, card: Card, update: Update) -> Markup:
    """A version of the mod as an entry of an Atom feed."""
    return ui.piece(ENTRY, face=face_of(card), update=update, base=ui.absolute(""))
