"""What programs sign in by: publisher keys (C-TOK-5, C-TOK-7), and codes that a person allows (C-ACC-30).

Such a code is always typed: no link carries it.
"""

from typing import Any, Final

from markupsafe import Markup

from modhub.base.errors import ApiError, invalid
from modhub.base.security_log import log_event
from modhub.content.text import N_
from modhub.plugins.services import IMods
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.traversal import parse_id
from modhub.web.views import page
from modhub_auth import publisher_keys
from modhub_auth.container import auth_services
from modhub_auth.mail.outbox import without_links
from modhub_auth.pages.account import account_done
from modhub_auth.pages.form_pages import (
    FORM_TEMPLATE,
    HOME,
    YOUR_ACCOUNT,
    FormField,
    FormPage,
    form_value,
    message_page,
    never_store,
)
from modhub_auth.pages.fresh_proof import (
    ask_for_proof,
    current_login,
    locked_account,
    proven_account,
    proven_page,
    rotate_session,
    send_security_email,
)
from modhub_auth.rate_limits import caller_of, rate_counter
from modhub_auth.resources import AccountPermission, IAccount
from modhub_auth.signin import device_codes
from modhub_auth.signin.authentication import Proof, required_proof
from modhub_auth.signin.device_codes import PendingCode

DEVICE: Final = "modhub_auth:templates/account/device.jinja2"
WRONG_CODES: Final = 10
"""Wrong codes per account and per caller in the window."""
TITLE: Final = N_("Sign in a program")


def _code_form() -> FormPage:
    hint = N_("Eight letters, such as BCDF-GHJK. Capitals, spaces and hyphens do not matter.")
    return FormPage(
        TITLE,
        N_("Continue"),
        [FormField("userCode", N_("Code shown by the program"), hint=hint)],
        lead=[N_("Enter the code that the program shows. Never enter one that somebody else has sent you.")],
        links=[YOUR_ACCOUNT],
    )


def _find_program(request: Request) -> PendingCode:
    """The program whose code was typed; 400 for a wrong code, 429 after ten of them."""
    auth, account_id, caller = auth_services(request), current_login(request).account_id, caller_of(request)
    counters = [
        rate_counter("device code account", str(account_id), WRONG_CODES),
        rate_counter("device code caller", caller, WRONG_CODES),
    ]
    with auth.rate_limiter.attempt(counters) as slot, request.databases.readonly_session() as session:
        program = device_codes.find_pending(session, request.registry.settings, form_value(request, "userCode"))
        if program is None:
            slot.failed = True
            log_event("device code refused", account=account_id, caller=caller)
            raise device_codes.unknown_code()
        return program


def decision_form(_context: Any, request: Request) -> FormPage:
    """The form that names the program and offers to allow or deny it."""
    program = _find_program(request)
    return FormPage(
        TITLE,
        N_("Allow"),
        [],
        links=[(f"{HOME}/device", N_("Enter another code"))],
        hidden={"userCode": form_value(request, "userCode")},
        template_values={"program": program},
    )


@page(
    context=IAccount,
    name="device",
    request_method=("GET", "POST"),
    permission=AccountPermission.CHANGE,
    renderer=FORM_TEMPLATE,
)
def device_page(context: Any, request: Request) -> dict[str, Any]:
    """``/Modhub/account/device``: the form for the code, and what it leads to; with ``deny``, nothing signs in."""
    form = _code_form()
    if request.is_safe:
        # Who has to prove themselves elsewhere does so first: the code would be lost on the way.
        if required_proof(auth_services(request), current_login(request)) is Proof.PLATFORM:
            ask_for_proof(request, form)
        return form.show(request)
    try:
        decision = decision_form(context, request)
        if "deny" in request.POST:
            return _deny(request)
    except ApiError as error:
        return form.show_errors(request, error)
    ask_for_proof(request, decision)
    request.override_renderer = DEVICE
    return decision.show(request)


def _deny(request: Request) -> dict[str, Any]:
    locked_account(request)
    device_codes.deny(request.dbsession, request.registry.settings, form_value(request, "userCode"))
    return message_page(request, "device_denied", N_("The program was denied"), N_("It is not signed in."))


@page(
    context=IAccount,
    name="device",
    request_method="POST",
    request_param="allow",
    permission=AccountPermission.CHANGE,
    renderer=DEVICE,
    fresh_proof=decision_form,
)
def allow_device_page(_context: Any, request: Request) -> dict[str, Any]:
    """``POST /Modhub/account/device`` with ``allow``: the program may fetch its session, which this login begins."""
    account, _ = proven_account(request)
    program = device_codes.allow(
        request.dbsession,
        request.registry.settings,
        form_value(request, "userCode"),
        account.id,
        current_login(request).login_id,
    )
    client = without_links(program.label) or translations_for(request).gettext("A program")
    send_security_email(request, "program allowed", client=client)
    rotate_session(request, request.response)
    return message_page(
        request, "device_allowed", N_("The program was allowed"), N_("Go back to it: it signs in by itself.")
    )


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


KEY_FIRST: Final = N_("Give your script a publisher key as MODHUB_API_KEY.")
CREATE_KEY: Final = "Create a publisher key"
PUBLISH: Final = N_("%(tool)s then uploads and publishes what has changed:")
EXCHANGE: Final = N_("With curl, exchange the key for a token, which is valid for 30 minutes:")
EXCHANGE_LINES: Final = """\
TOKEN=$(curl --fail-with-body -H 'Content-Type: application/json' \\
  -d "{{\\"key\\": \\"$MODHUB_API_KEY\\"}}" '{0}/api/auth/exchange' |
  sed 's/.*"accessToken":"\\([^"]*\\)".*/\\1/')"""
PUBLISH_LINES: Final = "modhub-publish --url '{0}' mod {1} mod.zip --version 1.0 --publish"
LINES: Final = Markup('<p>{0}</p>\n<pre class="lines" tabindex="0"><code>{1}</code></pre>')


def script_token(context: Any, request: Request) -> Markup:
    """How an owner's script signs in: by a publisher key, never by the password."""
    messages, base = translations_for(request), request.registry.settings["modhub.base_url"]
    link = Markup('<a href="/Modhub/account/publisher-key">{}</a>').format(messages.gettext(CREATE_KEY))
    tool = messages.gettext(PUBLISH, tool="modhub-publish")
    return Markup("\n").join(
        (
            Markup("<p>{} {}</p>").format(messages.gettext(KEY_FIRST), link),
            LINES.format(tool, PUBLISH_LINES.format(base, context.__name__)),
            LINES.format(messages.gettext(EXCHANGE), EXCHANGE_LINES.format(base)),
        )
    )
