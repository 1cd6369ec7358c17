"""``/Modhub/following``, the addresses of the buttons, and the page that ends digests."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup
from pyramid.renderers import render
from sqlalchemy.orm import Session

from modhub.base.errors import invalid, not_found
from modhub.base.identity import CredentialKind
from modhub.base.service_registry import find_service
from modhub.content import limits, text
from modhub.content.folding import fold_game
from modhub.content.limits import PAGE_SIZE, PAGE_SIZE_MOST
from modhub.content.text import N_
from modhub.db import bulk, from_micros, now, to_micros
from modhub.plugins.resources import IOwnMod
from modhub.plugins.security import lock_caller
from modhub.plugins.services import IAccounts, IModCards, IMods, IProfiles, ModSelection
from modhub.ui.template_helpers import nav_link, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query, query_number
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_following import services
from modhub_following.models import Follow, Frequency, TargetKind
from modhub_following.read_service import UNREAD_MOST, FollowReader
from modhub_following.resources import FollowPermission, FollowTarget, IFollowing, IFollowTarget, game_address
from modhub_following.services import Target, account_of_token, find_contact

ASKED_ALREADY: Final = "modhub_following.unread"
"""The environ key of the number of what is unread."""


def following_link(_context: Any, request: Request) -> Markup | None:
    """The entry in the navigation of readers who are signed in, with the number of what is unread."""
    account_id = _visitor_id(request)
    if account_id is None:
        return None
    number = unread_number(request, account_id)
    shown = str(number) if number <= UNREAD_MOST else f"{UNREAD_MOST}+"
    words = translations_for(request).gettext("%(count)s new or updated", count=shown)
    return nav_link(request, "/Modhub/following", N_("Following"), shown if number else "", words)


def unread_number(request: Request, account_id: int) -> int:
    """How much is unread for the account of the request; asked once a page."""
    environ: dict[str, Any] = request.environ
    if ASKED_ALREADY not in environ:
        environ[ASKED_ALREADY] = find_service(request.registry, FollowReader).count_unread(account_id)
    number: int = environ[ASKED_ALREADY]
    return number


def mod_button(context: Any, request: Request) -> Markup | None:
    """The button on the page of a mod; nothing for its owner."""
    account_id = _visitor_id(request)
    if context.id is None or (account_id is not None and account_id == context.owner):
        return None
    return _button(request, Target(TargetKind.MOD, str(context.id)), f"/Modhub/{context.id}/follow")


def followers_panel(context: Any, request: Request) -> Markup | None:
    """How many follow the mod, for its owner; nothing before the first."""
    if not IOwnMod.providedBy(context):
        return None
    number = services.count_followers(request.dbsession, Target(TargetKind.MOD, str(context.id)))
    if not number:
        return None
    values = {"number": number}
    return Markup(render("modhub_following:templates/followers.jinja2", values, request=request))  # noqa: S704


def author_button(context: Any, request: Request) -> Markup | None:
    """The button on an author's page; nothing on one's own."""
    if _visitor_id(request) == context.id:
        return None
    return _button(request, Target(TargetKind.AUTHOR, str(context.id)), f"/Modhub/by/{context.id}/follow")


def game_button(_context: Any, request: Request) -> Markup | None:
    """The button on the list of a game's mods."""
    name = text.line(query(request, "game") or "", limits.GAME)
    if not fold_game(name):
        return None
    target = Target(TargetKind.GAME, fold_game(name), name)
    return _button(request, target, "/Modhub/following/game?" + urlencode({"game": name}))


def _visitor_id(request: Request) -> int | None:
    return request.identify(CredentialKind.ACCOUNT).account_id


def _button(request: Request, target: Target, address: str) -> Markup:
    account_id = _visitor_id(request)
    followed = account_id is not None and services.is_followed(request.dbsession, account_id, target)
    values = {"address": address, "followed": followed, "signed_in": account_id is not None}
    return Markup(render("modhub_following:templates/button.jinja2", values, request=request))  # noqa: S704 - a template


FOLLOWING: Final = "/Modhub/following"
TEMPLATE: Final = "modhub_following:templates/following.jinja2"
LEAVE_TEMPLATE: Final = "modhub_following:templates/leave.jinja2"
MOST_MICROS_DIGITS: Final = 17


class FollowedThing(NamedTuple):
    """Something that is followed, as the page lists it."""

    kind: str
    name: str
    address: str
    form: str


def _account_id(request: Request) -> int:
    account_id: int = request.authenticated_userid
    return account_id


@page(context=IFollowTarget, request_method="GET", permission=FollowPermission.FOLLOW)
def redirect_to_target(context: FollowTarget, _request: Request) -> Redirect:
    """``GET`` at the address of a button: where a reader returns to after signing in."""
    return Redirect(f"{context.address}#follow")


@page(context=IFollowTarget, request_method="POST", permission=FollowPermission.FOLLOW, preserve_fields={"follow": ""})
def follow_submit(context: FollowTarget, request: Request) -> Redirect:
    """``POST``: ``follow`` is 1 or, to end it, 0; ``from`` is ``following`` on the page that lists all."""
    choice, session = request.POST.get("follow", ""), request.dbsession
    if choice not in {"0", "1"}:
        raise invalid("The field %(field)s must be 1 or 0.", field="follow")
    account_id, target = lock_caller(request), context.target
    if choice == "0":
        services.unfollow(session, account_id, target)
    else:
        if not _lock_target(request, context):
            raise not_found()
        services.follow(session, account_id, target, translations_for(request).language)
    from_list = request.POST.get("from") == "following"
    return Redirect(f"{FOLLOWING}#followed" if from_list else f"{context.address}#follow")


def _lock_target(request: Request, context: FollowTarget) -> bool:
    """Keep what is followed from being deleted until the transaction ends."""
    kind, session = context.target.kind, request.dbsession
    if kind is TargetKind.GAME:
        return True
    if kind is TargetKind.MOD:
        mods = find_service(request.registry, IMods)
        return mods.lock(session, int(context.target.key)) and context.check_exists(session)
    return find_service(request.registry, IAccounts).lock(session, int(context.target.key))


@page(context=IFollowing, request_method="GET", permission=FollowPermission.FOLLOW, renderer=TEMPLATE)
def following_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/following``: what is new in what the account follows, the follows, the digest and the feed.

    Reading it marks nothing as seen: a browser may fetch or restore it by itself, and what is new would be lost.
    """
    account_id, session, until = _account_id(request), request.dbsession, now()
    follows = services.follows_of(session, account_id)
    number = query_number(request)
    selection = selection_of(follows)
    news = partial(find_service(request.registry, FollowReader).find_unread, account_id)
    cards = find_service(request.registry, IModCards).get_page(
        request, selection, number, PAGE_SIZE, with_changes=True, news=news
    )
    return {
        "cards": cards.cards,
        "page": number,
        "pages": max(1, -(-cards.total // PAGE_SIZE)),
        "things": list(_things(request, session, follows)),
        "frequency": services.frequency_of(session, account_id).value,
        "frequencies": [frequency.value for frequency in Frequency],
        "contact": find_contact(session, account_id),
        "feed_made_at": services.feed_made_at(session, account_id),
        "unread": unread_number(request, account_id),
        "unread_most": UNREAD_MOST,
        "until": to_micros(until),
        "done": query(request, "done"),
    }


def _keys(follows: Iterable[Follow], kind: TargetKind) -> list[str]:
    return [follow.key for follow in follows if follow.kind == kind.value]


def selection_of(follows: Iterable[Follow]) -> ModSelection:
    """The published mods that these follows name."""
    listed = list(follows)
    mods, authors = ([int(key) for key in _keys(listed, kind)] for kind in (TargetKind.MOD, TargetKind.AUTHOR))
    return ModSelection(mods, authors, _keys(listed, TargetKind.GAME))


def _things(request: Request, session: Session, follows: Iterable[Follow]) -> Iterable[FollowedThing]:
    """What the page lists: neither hidden mods nor authors whom nobody can see."""
    mods, profiles = find_service(request.registry, IMods), find_service(request.registry, IProfiles)
    selection = selection_of(follows)
    published = _looked_up(selection.mods, lambda ids: mods.get_mods(session, ids))
    authors = _looked_up(selection.authors, lambda ids: profiles.get_profiles(mods.get_authors(session, ids)))
    for followed in follows:
        if followed.kind == TargetKind.GAME.value:
            address = game_address(followed.name)
            form = f"{FOLLOWING}/game{address.removeprefix('/Modhub')}"
            yield FollowedThing(followed.kind, followed.name, address, form)
        elif followed.kind == TargetKind.MOD.value:
            mod = published.get(int(followed.key))
            if mod is not None and mod.published:
                address = f"/Modhub/{mod.id}"
                yield FollowedThing(followed.kind, mod.title, address, f"{address}/follow")
        elif (profile := authors.get(int(followed.key))) is not None:
            address = f"/Modhub/by/{followed.key}"
            yield FollowedThing(followed.kind, profile.name, address, f"{address}/follow")


def _looked_up(ids: Iterable[int], get: Callable[[list[int]], dict[int, Any]]) -> dict[int, Any]:
    return {key: value for batch in bulk.batches(ids, PAGE_SIZE_MOST) for key, value in get(batch).items()}


@page(context=IFollowing, request_method="POST", permission=FollowPermission.FOLLOW, preserve_fields={"frequency": ""})
def digest_submit(_context: Any, request: Request) -> Redirect:
    """``POST /Modhub/following``: ``frequency`` is none, daily or weekly."""
    chosen = request.POST.get("frequency", "")
    if chosen not in list(Frequency):
        raise invalid("The field %(field)s must be none, daily or weekly.", field="frequency")
    account_id = lock_caller(request)
    services.choose_frequency(request.dbsession, account_id, Frequency(chosen), translations_for(request).language)
    return Redirect(f"{FOLLOWING}?done=digest#digest")


@page(
    context=IFollowing,
    name="seen",
    request_method="POST",
    permission=FollowPermission.FOLLOW,
    preserve_fields={"until": ""},
)
def seen_submit(_context: Any, request: Request) -> Redirect:
    """``POST /Modhub/following/seen``: nothing is unread that changed before ``until``, the page with the form.

    In microseconds since 1970. What came later stays unread, so nobody misses it.
    """
    typed = request.POST.get("until", "")
    if not (typed.isascii() and typed.isdigit() and len(typed) <= MOST_MICROS_DIGITS):
        raise invalid("The field %(field)s must be a number.", field="until")
    account_id, until = lock_caller(request), min(from_micros(int(typed)), now())
    services.mark_seen(request.dbsession, account_id, until, translations_for(request).language)
    return Redirect(f"{FOLLOWING}?done=seen")


@page(context=IFollowing, name="seen", request_method="GET", permission=FollowPermission.FOLLOW)
def redirect_to_following(_context: Any, _request: Request) -> Redirect:
    """``GET``: where a reader returns to after signing in."""
    return Redirect(FOLLOWING)


@page(context=IFollowing, name="leave", request_method="GET", permission=OPEN, renderer=LEAVE_TEMPLATE)
def leave_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/following/leave``: one button. Reading the page, as programs that check emails do, ends nothing."""
    _leaving_account(request)
    return {"token": query(request, "token"), "left": False}


@page(
    context=IFollowing,
    name="leave",
    request_method="POST",
    permission=OPEN,
    renderer=LEAVE_TEMPLATE,
    require_csrf=False,
)
def leave_submit(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/following/leave``: ends the digests (RFC 8058). The token in the address is the permission."""
    services.leave_digest(request.dbsession, _leaving_account(request))
    return {"token": query(request, "token"), "left": True}


def _leaving_account(request: Request) -> int:
    # Not the request's session: a caller with a wrong token must not wait for SQLite's write lock (C-OWN-13).
    with request.databases.readonly_session() as session:
        account_id = account_of_token(session, query(request, "token") or "")
    if account_id is None:
        raise not_found()
    # The address is a secret.
    request.response.headers.update({"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"})
    return account_id
