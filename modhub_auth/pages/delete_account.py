"""The page to delete one's account (C-ACC-18)."""

from typing import Any, Final

from modhub.content.text import N_
from modhub.plugins.services import IMods
from modhub.ui.xml_responses import Redirect
from modhub.web.request import Request
from modhub.web.views import OPEN, page
from modhub_auth.account_deletion import delete_account
from modhub_auth.interfaces import IAccount
from modhub_auth.pages.form_pages import MESSAGE_TEMPLATE, FormPage, message_page, never_stored
from modhub_auth.pages.fresh_proof import current_login, proven_account, send_security_email
from modhub_auth.pages.sign_in import HOME
from modhub_auth.resources import AccountPermission
from modhub_auth.signin.session_cookies import clear_session_cookie

DELETE: Final = "modhub_auth:templates/account/delete.jinja2"


def delete_account_form(_context: Any, request: Request) -> FormPage:
    """The form to confirm the deletion, with the mods that are deleted too."""
    with request.databases.readonly_session() as session:
        mods = request.find_service(IMods).get_mods_of_account(session, current_login(request).account_id)
    return FormPage(
        "Delete your account",
        N_("Delete my account"),
        [],
        lead=[N_("This deletes your mods, their files and your votes right away. It can't be undone.")],
        links=[(HOME, N_("Cancel"))],
        danger=True,
        template_values={"mods": mods},
    )


@page(
    context=IAccount,
    name="delete",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=DELETE,
    fresh_proof=delete_account_form,
)
def delete_account_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/delete``"""
    account, _ = proven_account(request)
    # First, while the account still has its addresses.
    send_security_email(request, "account deleted")
    delete_account(request.dbsession, request.registry, account)
    return never_stored(clear_session_cookie(request, Redirect(f"{HOME}/deleted")))


@page(context=IAccount, name="deleted", request_method="GET", permission=OPEN, renderer=MESSAGE_TEMPLATE)
def account_deleted_page(_context: Any, request: Request) -> dict[str, Any]:
    """``GET /Modhub/account/deleted``: nobody need wonder whether it worked."""
    return message_page(request, "account_deleted", N_("Your account was deleted"), links=[("/Modhub", "All mods")])
