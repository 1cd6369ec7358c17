"""The end of an account, at its owner's wish (decisions 3.10)."""

from typing import Any, Final

from modhub.catalogue.services import leaving
from modhub.errors import Refusal
from modhub.pages.answers import Redirect
from modhub.request import Request
from modhub.views import page
from modhub_auth.cookies import leave
from modhub_auth.deleting import delete_account
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.account import current_password, proved, visitor
from modhub_auth.pages.sheets import Sheet, unstored
from modhub_auth.pages.signing import HOME
from modhub_auth.resources import AccountPermission

DELETE: Final = "modhub_auth:templates/account/delete.jinja2"


def delete_sheet(request: Request) -> Sheet:
    """The password, and consent."""
    return Sheet(
        "Delete your account",
        "Delete it for ever",
        current_password(request),
        lead=["Your mods, their files and your votes are deleted with it, at once. There is no way back."],
        links=[(HOME, "Keep it")],
        danger=True,
    )


def _mods(request: Request) -> dict[str, Any]:
    with request.databases.reading() as session:
        return {"mods": leaving(session, visitor(request).account_id)}


@page(context=IAccount, name="delete", request_method="GET", permission=AccountPermission.CHANGE, renderer=DELETE)
def delete_form(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/delete``: what goes with the account."""
    return delete_sheet(request).show(request, **_mods(request))


@page(context=IAccount, name="delete", request_method="POST", permission=AccountPermission.CHANGE, renderer=DELETE)
def delete_own(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/delete``"""
    try:
        account, _ = proved(request)
    except Refusal as refusal:
        return delete_sheet(request).refused(request, refusal, **_mods(request))
    delete_account(request.dbsession, request.registry, account)
    return unstored(leave(request, Redirect("/Modhub")))
