"""Mods as cards of lists and as entries of feeds: cached fragments, one per state of a mod."""

from typing import Any, Final

from markupsafe import Markup

from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.catalogue.pages.queries.games import CuratedGames
from modhub.catalogue.pages.queries.updates import FeedEntry
from modhub.content.folding import fold_game
from modhub.plugins.services import Profile
from modhub.ui.template_helpers import PageHelpers

CARD: Final = "modhub.catalogue:templates/card.jinja2"
ENTRY: Final = "modhub.catalogue:templates/entry.jinja2"


def _shown(card: ModPresenter, author: Profile | None) -> dict[str, Any]:
    """Everything of a mod that its card shows, as part of the cache key; the template decodes the document."""
    return {
        "presenter": ModPresenter,
        "document": card.document,
        "image_facts": card.image_facts,
        "author": author and author.name,
    }


def render_card(
    ui: PageHelpers,
    card: ModPresenter,
    author: Profile | None,
    games: CuratedGames,
    loading: str = "lazy",
    *,
    with_changes: bool = False,
    is_new: bool | None = None,
) -> Markup:
    """Render a card; ``loading`` of its image: ``lazy``, ``eager`` (visible at once) or ``first`` (before others).

    ``with_changes``: what is new in the current version is seen; otherwise a script shows it to who has not seen it.
    ``is_new``: the card is marked as new if True, as updated if False; if None, a script may mark it.
    """
    assert card.changed is not None
    # As part of the cache key, the age makes the card be rendered again as time passes.
    age = ui.ago(card.changed)
    values: dict[str, Any] = {"owner": card.owner, "ups": card.ups, "downs": card.downs, "figures": card.figures}
    values |= {"changed": card.changed, "age": age, "told": card.told, "with_changes": with_changes}
    values["is_new"] = is_new
    shown = {**_shown(card, author), **values}
    return ui.cached_fragment(CARD, loading=loading, games=games, fold_game=fold_game, **shown)


def render_feed_entry(ui: PageHelpers, card: ModPresenter, author: Profile | None, entry: FeedEntry) -> Markup:
    """Render a version of the mod as an entry of an Atom feed."""
    return ui.cached_fragment(ENTRY, entry=entry, base=ui.absolute(""), **_shown(card, author))
