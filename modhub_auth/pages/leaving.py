"""The end of an account, at its owner's wish (decisions 3.10)."""

from typing import Any, Final

from modhub.catalogue.services import leaving
from modhub.pages.answers import Redirect
from modhub.request import Request
from modhub.views import page
from modhub_auth.cookies import leave
from modhub_auth.deleting import delete_account
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.proof import proved, tell, visitor
from modhub_auth.pages.sheets import Sheet, unstored
from modhub_auth.pages.signing import HOME
from modhub_auth.resources import AccountPermission

DELETE: Final = "modhub_auth:templates/account/delete.jinja2"


def delete_sheet(_context: Any, request: Request) -> Sheet:
    """What goes with the account, and consent."""
    with request.databases.reading() as session:
        mods = leaving(session, visitor(request).account_id)
    return Sheet(
        "Delete your account",
        "Delete it for ever",
        [],
        lead=["Your mods, their files and your votes are deleted with it, at once. There is no way back."],
        links=[(HOME, "Keep it")],
        danger=True,
        more={"mods": mods},
    )


@page(
    context=IAccount,
    name="delete",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=DELETE,
    fresh_proof=delete_sheet,
)
def delete_own(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/delete``"""
    account, _ = proved(request)
    # While its addresses are there.
    tell(request, "account deleted")
    delete_account(request.dbsession, request.registry, account)
    return unstored(leave(request, Redirect("/Modhub")))
