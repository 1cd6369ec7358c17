"""Making and revoking publisher keys (C-TOK-5, C-TOK-7)."""

from typing import Any, Final

from modhub.base.errors import invalid
from modhub.content.text import N_
from modhub.plugins.services import IMods
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page
from modhub_auth import publisher_keys
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import YOUR_ACCOUNT, FormField, FormPage, form_value, never_store
from modhub_auth.pages.fresh_proof import (
    current_login,
    locked_account,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.resources import AccountPermission, IAccount

KEY_TEMPLATE: Final = "modhub_auth:templates/account/publisher_key.jinja2"


def publisher_key_form(_context: Any, request: Request) -> FormPage:
    """The form to make a key; it lists the account's own mods, drafts too."""
    with request.databases.readonly_session() as session:
        mods = request.find_service(IMods).get_mods_of_account(session, current_login(request).account_id)
    days_hint = N_("The key then stops working. 0 means that it never expires.")
    return FormPage(
        N_("Create a publisher key"),
        N_("Create key"),
        [
            FormField(
                "label",
                N_("Label"),
                hint=N_("A name to recognise it by, such as “CI”."),
                check=publisher_keys.clean_label,
            ),
            FormField(
                "mod",
                N_("Mod"),
                options=[("", N_("All your mods")), *((str(mod.id), mod.title) for mod, _ in mods)],
            ),
            FormField(
                "days",
                N_("Days until it expires"),
                value=str(publisher_keys.DEFAULT_DAYS),
                hint=days_hint,
                required=False,
                inputmode="numeric",
                check=publisher_keys.parse_days,
            ),
        ],
        lead=[N_("A publisher key lets a build pipeline upload and publish your mods. It cannot change your account.")],
        links=[YOUR_ACCOUNT],
    )


def _find_mod(request: Request, account_id: int) -> int | None:
    """The account's mod in the form; None for all. 400 for any other: a stranger's is as an unknown one."""
    chosen = form_value(request, "mod").strip()
    if not chosen:
        return None
    number = parse_id(chosen) or 0
    mod = request.find_service(IMods).get_mods(request.dbsession, [number]).get(number)
    if mod is None or mod.owner != account_id:
        raise invalid("The field %(field)s must name one of your mods.", field="mod")
    return mod.id


@proven_page(publisher_key_form, name="publisher-key")
def publisher_key_page(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/account/publisher-key``: make a key and show it once."""
    account, _ = proven_account(request)
    new_key = publisher_keys.create_key(
        request.dbsession,
        account.id,
        publisher_keys.clean_label(form_value(request, "label")),
        _find_mod(request, account.id),
        publisher_keys.parse_days(form_value(request, "days")),
    )
    send_security_email(request, "key created")
    rotate_session(request, request.response)
    request.override_renderer = KEY_TEMPLATE
    never_store(request)
    return {"new_key": new_key}


@page(context=IAccount, name="revoke-key", request_method="POST", permission=AccountPermission.CHANGE)
def revoke_key_page(_context: Any, request: Request) -> Any:
    """``POST /Modhub/account/revoke-key``: ``loginId`` is a publisher key. Its sessions end with it."""
    locked_account(request)
    login_id = parse_id(form_value(request, "loginId"))
    publisher_keys.revoke_key(request.dbsession, current_login(request).account_id, login_id)
    return account_done("revoked")
