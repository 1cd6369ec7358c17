"""The cards of lists, and the same mods as entries of feeds: pieces that are drawn once for each state of a mod."""

from typing import Any, Final, NamedTuple

from markupsafe import Markup

from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries.page_queries import CuratedGames, ModCard
from modhub.catalogue.pages.queries.updates import ModUpdate
from modhub.folding import fold_game
from modhub.ui.template_helpers import PageHelpers

CARD: Final = "modhub.catalogue:templates/card.jinja2"
ENTRY: Final = "modhub.catalogue:templates/entry.jinja2"


class CardKey(NamedTuple):
    """All of a mod that its card shows."""

    document: bytes
    odd: str | None
    author: str | None
    ups: int
    downs: int

    @property
    def shown(self) -> ModPresenter:
        """What the document says; for one drawing, since it is read anew each time."""
        return ModPresenter(self.document, self.odd)


def card_key(card: ModCard) -> CardKey:
    """The key by which the card of a list is cached."""
    return CardKey(card.document_bytes, card.odd, card.author, card.ups, card.downs)


def render_card(ui: PageHelpers, card: ModCard, games: CuratedGames, eager: bool = False) -> Markup:
    """The card; ``eager``: its picture is seen at once, so it is not loaded lazily."""
    assert card.changed is not None
    # How long ago it was, in words, stands for the time that goes by.
    said = ui.ago(card.changed)
    values: dict[str, Any] = {"changed": card.changed, "said": said, "games": games, "fold_game": fold_game}
    return ui.cached_fragment(CARD, key=card_key(card), eager=eager, **values)


def render_feed_entry(ui: PageHelpers, card: ModCard, update: ModUpdate) -> Markup:
    """A version of the mod as an entry of an Atom feed."""
    return ui.cached_fragment(ENTRY, key=card_key(card), update=update, base=ui.absolute(""))
