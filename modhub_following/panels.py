"""The buttons to follow, on pages of the core, and the entry in the navigation."""

from typing import Any, Final
from urllib.parse import urlencode

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod
from modhub.ui.template_helpers import nav_link, translations_for
from modhub.web.payload import query
from modhub.web.request import Request
from modhub_following import services
from modhub_following.models import TargetKind
from modhub_following.read_service import UNREAD_MOST, FollowReader
from modhub_following.services import Target

FOLLOW: dict[TargetKind, str] = {
    TargetKind.MOD: N_("Follow this mod"),
    TargetKind.AUTHOR: N_("Follow this author"),
    TargetKind.GAME: N_("Follow this game"),
}

ASKED_ALREADY: Final = "modhub_following.unread"
"""The environ key of the number of what is unread."""


def following_link(_context: Any, request: Request) -> Markup | None:
    """The entry in the navigation of readers who are signed in, with the number of what is unread."""
    account_id = _account_id(request)
    if account_id is None:
        return None
    return nav_link(request, "/Modhub/following", N_("Following"), _unread_mark(request, account_id))


def unread_number(request: Request, account_id: int) -> int:
    """How much is unread for the account of the request; asked once a page."""
    environ: dict[str, Any] = request.environ
    if ASKED_ALREADY not in environ:
        environ[ASKED_ALREADY] = find_service(request.registry, FollowReader).count_unread(account_id)
    number: int = environ[ASKED_ALREADY]
    return number


def _unread_mark(request: Request, account_id: int) -> Markup:
    number = unread_number(request, account_id)
    if not number:
        return Markup("")
    shown = str(number) if number <= UNREAD_MOST else f"{UNREAD_MOST}+"
    # Read out after the name of the link.
    words = translations_for(request).gettext("%(count)s new or updated", count=shown)
    return Markup(' <span class="unread-count" aria-hidden="true">{}</span><span class="hidden">{}</span>').format(
        shown, words
    )


def mod_button(context: Any, request: Request) -> Markup | None:
    """The button on the page of a mod; nothing for its owner."""
    account_id = _account_id(request)
    if context.id is None or (account_id is not None and account_id == context.owner):
        return None
    return _button(request, Target(TargetKind.MOD, str(context.id)), f"/Modhub/{context.id}/follow")


def followers_panel(context: Any, request: Request) -> Markup | None:
    """How many follow the mod, for its owner; nothing before the first."""
    if not IOwnMod.providedBy(context) or context.id is None:
        return None
    number = services.count_followers(request.dbsession, Target(TargetKind.MOD, str(context.id)))
    if not number:
        return None
    values = {"number": number}
    return Markup(render("modhub_following:templates/followers.jinja2", values, request=request))  # noqa: S704


def author_button(context: Any, request: Request) -> Markup | None:
    """The button on an author's page; nothing on one's own."""
    if _account_id(request) == context.id:
        return None
    return _button(request, Target(TargetKind.AUTHOR, str(context.id)), f"/Modhub/by/{context.id}/follow")


def game_button(_context: Any, request: Request) -> Markup | None:
    """The button on the list of a game's mods."""
    name = text.line(query(request, "game") or "", limits.GAME)
    if not fold_game(name):
        return None
    target = Target(TargetKind.GAME, fold_game(name), name)
    return _button(request, target, "/Modhub/following/game?" + urlencode({"game": name}))


def _account_id(request: Request) -> int | None:
    return request.identify(CredentialKind.ACCOUNT).account_id


def _button(request: Request, target: Target, address: str) -> Markup:
    account_id = _account_id(request)
    followed = account_id is not None and services.is_followed(request.dbsession, account_id, target)
    values = {
        "address": address,
        "followed": followed,
        "label": FOLLOW[target.kind],
        "signed_in": account_id is not None,
    }
    return Markup(render("modhub_following:templates/button.jinja2", values, request=request))  # noqa: S704 - a template
