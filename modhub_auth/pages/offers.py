"""Offering a mod to another account in the workshop, and answering an offer on the account's page (C-OWN-50)."""

from typing import Any, Final

from markupsafe import Markup
from pyramid.renderers import render

from modhub.base.errors import ApiError, not_found
from modhub.content.text import N_
from modhub.plugins.resources import IOwnMod
from modhub.plugins.services import IMods
from modhub.ui.xml_responses import Redirect
from modhub.web.payload import query
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page
from modhub_auth import offers
from modhub_auth.offers import ClosedOffer
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import (
    MESSAGE_TEMPLATE,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    error_page,
    form_value,
    never_stored,
)
from modhub_auth.pages.fresh_proof import (
    current_login,
    locked_account,
    notify_account,
    proven_account,
    proven_page,
    send_security_email,
)
from modhub_auth.resources import AccountPermission, IAccount, IOwnOffer, OwnOffer
from modhub_auth.services import lock_accounts

OFFER_TEMPLATE: Final = "modhub_auth:templates/account/offer.jinja2"
PANEL_TEMPLATE: Final = "modhub_auth:templates/account/offer_panel.jinja2"


def offer_panel(context: Any, request: Request) -> Markup | None:
    """On the workshop page of a mod that everybody sees: its open offer, or the way to make one."""
    if not IOwnMod.providedBy(context):
        return None
    with request.databases.readonly_session() as session:
        mod = request.find_service(IMods).get_mods(session, [context.id]).get(context.id)
        offer = offers.find_open(session, context.id)
    if mod is None or not (mod.published or offer):
        return None
    values = {"mod_id": mod.id, "offer": offer, "done": query(request, "done")}
    return Markup(render(PANEL_TEMPLATE, values, request=request))  # noqa: S704 - our template escapes


def _send_outcome(request: Request, closed: ClosedOffer, kind: str) -> None:
    """Tell owner and recipient, in the language of this page."""
    for account_id in (closed.owner_id, closed.recipient_id):
        notify_account(request, account_id, kind, mod=closed.title)


def offer_form(context: OwnOffer, request: Request) -> FormPage:
    """The form to offer the mod; 404 unless everybody sees it."""
    with request.databases.readonly_session() as session:
        mod = context.find_mod(session)
    if mod is None or not mod.published:
        raise not_found()
    return FormPage(
        N_("Hand this mod over"),
        N_("Offer the mod"),
        [
            FormField(
                "account",
                N_("To whom"),
                hint=N_("The confirmed email address of an account, or its number. We do not say whether it exists."),
            )
        ],
        lead=[
            mod.title,
            N_(
                "Once the offer is accepted, only the new owner can change or delete the mod. Its files, changelog, "
                "votes and followers stay; publisher keys for this mod alone stop working."
            ),
            N_("The offer can be accepted for 14 days. Until then you can withdraw it."),
        ],
        links=[(f"/Modhub/mine/{mod.id}", N_("Cancel"))],
    )


@proven_page(offer_form, context=IOwnOffer)
def offer_page(context: OwnOffer, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/offer``: the same page and email whether or not there is such an account."""
    account, _ = proven_account(request)
    named, mods = form_value(request, "account").strip(), request.find_service(IMods)
    made = offers.make_offer(request.dbsession, mods, account.id, context.mod_id, named)
    send_security_email(request, "mod offered", mod=made.title)
    notify_account(request, made.recipient_id, "offer received", name=account.display_name, mod=made.title)
    return _back_to_workshop(context, "offered")


@page(
    context=IOwnOffer,
    request_method="POST",
    request_param="withdraw",
    permission=AccountPermission.CHANGE,
    renderer=MESSAGE_TEMPLATE,
)
def withdraw_page(context: OwnOffer, request: Request) -> Any:
    """``POST /Modhub/mine/{id}/offer`` with ``withdraw``"""
    account, mods = locked_account(request), request.find_service(IMods)
    try:
        closed = offers.withdraw_offer(request.dbsession, mods, account.id, context.mod_id)
    except ApiError as error:
        return _gone(request, error)
    _send_outcome(request, closed, "offer withdrawn")
    return _back_to_workshop(context, "withdrawn")


def _back_to_workshop(context: OwnOffer, done: str) -> Any:
    return never_stored(Redirect(f"/Modhub/mine/{context.mod_id}?part=details&done={done}#offer"))


def _gone(request: Request, error: ApiError) -> dict[str, Any]:
    return error_page(request, N_("This offer is over"), error, [YOUR_ACCOUNT])


@page(
    context=IAccount,
    name="offer",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=OFFER_TEMPLATE,
)
def received_offer_page(_context: Any, request: Request) -> Any:
    """``/Modhub/account/offer?id=…``: what is offered, and the answer: ``accept`` or ``decline``."""
    session, mods, account_id = request.dbsession, request.find_service(IMods), current_login(request).account_id
    offer_id = parse_id(query(request, "id") or "")
    try:
        offer = offers.find_offer(session, mods, account_id, offer_id)
        if request.is_safe:
            form = FormPage(N_("A mod is offered to you"), N_("Accept"), [], links=[YOUR_ACCOUNT])
            form.template_values = {"offer": offer}
            return form.show(request)
        lock_accounts(session, [offer.owner_id, account_id])
        locked_account(request)
        if "accept" in request.POST:
            closed, done = offers.accept_offer(session, mods, offer, account_id), "accepted"
        else:
            closed, done = offers.decline_offer(session, offer, account_id), "declined"
    except ApiError as error:
        return _gone(request, error)
    _send_outcome(request, closed, f"offer {done}")
    return account_done(done)
