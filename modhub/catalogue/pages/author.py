"""``/Modhub/by/{accountId}``: an author's published mods, and their feeds; the cards of mods for features."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup
from pyramid.response import Response

from modhub.base.errors import found
from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.browse import list_cards, page_games, page_numbers, page_reader
from modhub.catalogue.pages.cards import CuratedGames
from modhub.catalogue.pages.feeds import updates_feed
from modhub.catalogue.pages.presenter import ModPresenter
from modhub.catalogue.pages.statements import (
    changed_among_statement,
    changed_statement,
    changed_total_statement,
)
from modhub.catalogue.reading.service import ListParams
from modhub.catalogue.reading.views import list_params
from modhub.catalogue.resources import AuthorResource
from modhub.plugins.resources import IAuthor
from modhub.plugins.services import CardPage, FeedHead, IAuthorPictures, ModSelection, Profile
from modhub.ui.share_images import ShareImage
from modhub.web.request import Request
from modhub.web.views import OPEN, page

AUTHOR_PICTURE: Final = 256
"""Width and height of an author's picture in pixels."""
NAMED_IN_SUMMARY: Final = 5
"""Titles of mods in the description of an author's page."""


class ModCards:
    """See :class:`modhub.plugins.services.IModCards`."""

    def get_page(
        self,
        request: Request,
        selection: ModSelection,
        page: int,
        size: int,
        *,
        with_changes: bool = False,
        news: Callable[[Collection[int]], Mapping[int, bool]] | None = None,
    ) -> CardPage:
        """Two statements for the mods, one each for the names of authors and for the games."""
        reader = page_reader(request)
        listing = reader.selected(selection, ListParams(page=page, size=size))
        marks = news([card.mod.id for card in listing.cards]) if news is not None else {}
        return CardPage(list_cards(request, listing.cards, with_changes=with_changes, marks=marks), listing.total)

    def get_cards(self, request: Request, mod_ids: Sequence[int]) -> Markup:
        """As many statements as of a page."""
        listing = page_reader(request).selected(ModSelection(mods=mod_ids), ListParams(size=len(mod_ids)))
        cards = sorted(listing.cards, key=lambda card: mod_ids.index(card.mod.id))
        return list_cards(request, cards)

    def get_feed(self, request: Request, selection: ModSelection, head: FeedHead, size: int) -> Response:
        """Two statements for the mods, one for the names of authors."""
        updates = page_reader(request).selected_updates(selection, ListParams(size=size))
        return updates_feed(request, head, updates)

    count_changed = staticmethod(changed_total_statement)
    list_changed = staticmethod(changed_statement)
    find_changed = staticmethod(changed_among_statement)


def author_address(account_id: int | None, number: int = 1) -> str:
    """Return the address of a page of the author's mods."""
    return f"/Modhub/by/{account_id}" + (f"?page={number}" if number > 1 else "")


def _profile(context: AuthorResource) -> Profile:
    """Return the author's name; an account without published mods is the same 404 as none."""
    return found(context.profile if context.exists else None)


@page(context=IAuthor, request_method="GET", permission=OPEN, renderer="modhub.catalogue:templates/author.jinja2")
def author_page(context: AuthorResource, request: Request) -> dict[str, Any]:
    """``GET /Modhub/by/{accountId}``: ``page`` as on browse."""
    profile, query_params = _profile(context), list_params(request)
    params = ListParams(page=query_params.page)
    reader = page_reader(request)
    (listing, totals), games = reader.of_author(context.id or 0, params), page_games(request)
    pictures = find_optional_service(request.registry, IAuthorPictures)
    picture = pictures.find_picture(context.id or 0) if pictures is not None else None
    return {
        "author": profile,
        "picture": picture,
        "picture_side": AUTHOR_PICTURE,
        "account": context.id,
        "listing": listing,
        "totals": totals,
        "cards": list_cards(request, listing.cards),
        "share_image": _share_image(picture, profile, listing.cards, games),
        "titles": [card.mod.title for card in listing.cards[:NAMED_IN_SUMMARY]],
        "page": params.page,
        "numbers": page_numbers(params.page, listing.pages),
        "address": lambda number: author_address(context.id, number),
    }


def _share_image(
    picture: str | None, author: Profile, cards: list[ModPresenter], games: CuratedGames
) -> ShareImage | None:
    """The picture of links to the author: their own, else that of their newest mod."""
    if picture is not None:
        return ShareImage(picture, author.name, "image/jpeg", AUTHOR_PICTURE, AUTHOR_PICTURE)
    return cards[0].share_image(games) if cards else None


@page(context=IAuthor, name="feed", request_method="GET", permission=OPEN)
@page(context=IAuthor, name="feed.json", request_method="GET", permission=OPEN)
def author_feed(context: AuthorResource, request: Request) -> Response:
    """``GET /Modhub/by/{accountId}/feed`` and ``feed.json``: the newest versions of the author's mods."""
    title, path = f"modhub – New and updated mods by {_profile(context).name}", author_address(context.id)
    head = FeedHead(title, f"{path}/feed", path, f"{path}/feed.json")
    size = list_params(request).size
    return ModCards().get_feed(request, context.selection, head, size)
