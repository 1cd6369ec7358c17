"""A feed of what an account follows, for feed readers: its address, which has a secret, is the permission."""

from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from pyramid.response import Response

from modhub.base.errors import found, invalid
from modhub.content.limits import PAGE_SIZE
from modhub.plugins.security import lock_caller
from modhub.plugins.services import FeedHead, IModCards
from modhub.ui.template_helpers import PageHelpers, translations_for
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_following import services
from modhub_following.pages import FOLLOWING, selection_of
from modhub_following.read_service import FollowReader
from modhub_following.resources import FollowPermission, IFollowing

FEED: Final = f"{FOLLOWING}/feed"
ADDRESS_TEMPLATE: Final = "modhub_following:templates/feed_address.jinja2"


@page(
    context=IFollowing,
    name="feed-address",
    request_method="POST",
    permission=FollowPermission.FOLLOW,
    renderer=ADDRESS_TEMPLATE,
    preserve_fields={"do": ""},
)
def feed_address_submit(_context: Any, request: Request) -> Any:
    """``POST /Modhub/following/feed-address``: ``do`` is create, which ends an earlier address, or revoke.

    The new address is shown once, in this response.
    """
    choice = request.POST.get("do", "")
    if choice not in {"create", "revoke"}:
        raise invalid("The field %(field)s must be create or revoke.", field="do")
    account_id, session = lock_caller(request), request.dbsession
    if choice == "revoke":
        services.revoke_feed(session, account_id)
        return Redirect(f"{FOLLOWING}?done=revoked#feed")
    token = services.renew_feed(session, account_id, translations_for(request).language)
    absolute = PageHelpers(request).absolute
    return {"atom": absolute(f"{FEED}?token={token}"), "json": absolute(f"{FEED}.json?token={token}")}


@page(context=IFollowing, name="feed-address", request_method="GET", permission=FollowPermission.FOLLOW)
def redirect_to_feed_form(_context: Any, _request: Request) -> Redirect:
    """``GET``: where a reader returns to after signing in; an address is never shown again."""
    return Redirect(f"{FOLLOWING}#feed")


@page(context=IFollowing, name="feed", request_method="GET", permission=OPEN)
@page(context=IFollowing, name="feed.json", request_method="GET", permission=OPEN)
def private_feed(_context: Any, request: Request) -> Response:
    """``GET /Modhub/following/feed?token=…`` and ``feed.json``: the newest versions of what the account follows.

    404, the same for every address that is not one.
    """
    token = query(request, "token") or ""
    account_id = found(request.find_service(FollowReader).account_of_feed(token))
    title = f"{PageHelpers(request).site_name} – Following"
    # Readers show ids and share them: it stays the same, and does not tell the token.
    feed_id = uuid5(NAMESPACE_URL, token).urn
    head = FeedHead(title, f"{FEED}?token={token}", FOLLOWING, f"{FEED}.json?token={token}", feed_id)
    selection = selection_of(services.follows_of(request.dbsession, account_id))
    return _private(request.find_service(IModCards).get_feed(request, selection, head, PAGE_SIZE))


def _private(public: Response) -> Response:
    """The feed as a response for one reader: its address and its links hold a secret."""
    headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}
    return Response(body=public.body, headerlist=[("Content-Type", public.headers["Content-Type"]), *headers.items()])
