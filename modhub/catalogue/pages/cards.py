"""The cards of lists: drawn once for each state of a mod and kept, since most of a list's time goes into drawing them.

Everything that a card shows is a part of the key, so that nothing can be out of date; two applications keep their own.
"""

from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from modhub.catalogue.pages.reading import Card, Games
from modhub.db import from_micros
from modhub.folding import fold_game
from modhub.pages.messages import Messages
from modhub.pages.shapes import Shapes

TEMPLATE: Final = "modhub:templates/catalogue/card.jinja2"
KEPT: Final = 4096
"""Cards, of about 2 KB each."""


class Face(NamedTuple):
    """All of a mod that its card shows."""

    document: bytes
    author: str | None
    ups: int
    downs: int
    changed: datetime
    ago: str
    eager: bool


class Cards:
    """Draws cards; ``environment`` is Jinja's."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._kept = lru_cache(KEPT)(self._draw)

    def __call__(self, ui: Shapes, card: Card, games: Games, eager: bool = False) -> Markup:
        """The card; ``eager``: its picture is seen at once, so it is not loaded lazily."""
        assert isinstance(card.document, bytes)
        assert card.changed is not None
        changed = from_micros(card.changed)
        # How long ago it was, in words, stands for the time that goes by.
        face = Face(card.document, card.author, card.ups, card.downs, changed, ui.ago(changed), eager)
        return self._kept(ui.messages, games, face)

    def _draw(self, messages: Messages, games: Games, face: "Face") -> Markup:
        card = Card(face.document, 0, face.ups, face.downs)
        card.author = face.author
        shapes = Shapes(messages)
        values = {
            "ui": shapes,
            "_": messages.gettext,
            "ngettext": messages.ngettext,
            "one": card,
            "time": shapes.time(face.changed),
            "games": games,
            "fold_game": fold_game,
            "eager": face.eager,
        }
        return Markup(self._environment.get_template(TEMPLATE).render(values))  # noqa: S704 - an escaping template
