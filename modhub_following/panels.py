"""The buttons to follow, on pages of the core, and the entry in the navigation."""

from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.identity import CredentialKind
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.text import N_
from modhub.http.payload import query
from modhub.http.request import Request
from modhub.ui.template_helpers import nav_link
from modhub_following import services
from modhub_following.models import TargetKind
from modhub_following.services import Target

FOLLOW: dict[TargetKind, str] = {
    TargetKind.MOD: N_("Follow this mod"),
    TargetKind.AUTHOR: N_("Follow this author"),
    TargetKind.GAME: N_("Follow this game"),
}


def following_link(_context: Any, request: Request) -> Markup | None:
    """The entry in the navigation of readers who are signed in."""
    if request.identify(CredentialKind.ACCOUNT).account_id is None:
        return None
    return nav_link(request, "/Modhub/following", N_("Following"))


def mod_button(context: Any, request: Request) -> Markup | None:
    """The button on the page of a mod; nothing for its owner."""
    account_id = _account_id(request)
    if context.id is None or (account_id is not None and account_id == context.owner):
        return None
    return _button(request, Target(TargetKind.MOD, str(context.id)), f"/Modhub/{context.id}/follow")


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
