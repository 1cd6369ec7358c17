"""Mods as cards of lists and as entries of feeds: cached fragments, one per state of a mod."""

from typing import Any, Final, NamedTuple

from markupsafe import Markup

from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries.page_queries import CuratedGames, ModCard
from modhub.catalogue.pages.queries.updates import FeedEntry
from modhub.content.folding import fold_game
from modhub.ui.template_helpers import PageHelpers

CARD: Final = "modhub.catalogue:templates/card.jinja2"
ENTRY: Final = "modhub.catalogue:templates/entry.jinja2"


class CardKey(NamedTuple):
    """Everything of a mod that its card shows."""

    document: bytes
    image_facts: str | None
    author: str | None
    owner: int
    ups: int

    @property
    def presenter(self) -> ModPresenter:
        """A presenter of the document; created for each rendering."""
        return ModPresenter(self.document, self.image_facts)


def card_key(card: ModCard) -> CardKey:
    """Return the cache key of a card."""
    return CardKey(card.document_bytes, card.image_facts, card.author, card.owner, card.ups)


def render_card(ui: PageHelpers, card: ModCard, games: CuratedGames, loading: str = "lazy") -> Markup:
    """Render a card; ``loading`` of its image: ``lazy``, ``eager`` (visible at once) or ``first`` (before others)."""
    assert card.changed is not None
    # As part of the cache key, the age makes the card be rendered again as time passes.
    age = ui.ago(card.changed)
    values: dict[str, Any] = {"changed": card.changed, "age": age, "games": games, "fold_game": fold_game}
    return ui.cached_fragment(CARD, key=card_key(card), loading=loading, **values)


def render_feed_entry(ui: PageHelpers, card: ModCard, entry: FeedEntry) -> Markup:
    """Render a version of the mod as an entry of an Atom feed."""
    return ui.cached_fragment(ENTRY, key=card_key(card), entry=entry, base=ui.absolute(""))
