"""Pages with one form, rendered by ``form.jinja2``, and pages with a message alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.ui import forms
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub.web.views import OPEN, F, page
from modhub_auth.container import auth_services
from modhub_auth.models import KEY_PLATFORM
from modhub_auth.resources import IAccount

# Maps API errors to form fields and user-facing messages.
#
# Messages of API errors are written for programs and name JSON fields; a form has labels.


INPUT_SENTENCES: Final = {
    "email": N_("This is not an email address."),
    "password": N_("The password must have 10 to 1024 characters."),
    "code": N_("This code is wrong. Try the next one your authenticator shows."),
    "label": N_("Enter a label for the key."),
    "mod": N_("This is not one of your mods. Choose another."),
    "account": N_("Enter an email address or the number of an account."),
    "days": N_("Enter a number of days from 0 to 3650."),
}
"""The message for invalid input (``invalid_input``) by field name."""

SENTENCES: Final = {
    "address_taken": ("email", "There is already an account with this email address."),
    "same_address": ("email", N_("This is already your email address.")),
    "invalid_credentials": ("password", "The email address or the password is wrong."),
    "common_password": ("password", N_("This is one of the first passwords that attackers try. Choose another one.")),
    "password_warning": (
        "password",
        N_("This is one of the first passwords that attackers try. Choose another one, or enter it again to keep it."),
    ),
    "wrong_password": ("currentPassword", N_("This is not the password of your account.")),
    "code_missing": ("code", N_("Your account has an authenticator. Enter its code.")),
    "code_alone": ("code", N_("Enter a code from your authenticator.")),
    "code_refused": ("code", N_("This code is wrong or has already been used. Each code works only once.")),
    "unknown_code": ("userCode", "This code is wrong or has expired. Check it, or start again in the program."),
    "own_account": ("account", "This is your own account. Name another one."),
    "authenticator_present": ("", N_("Your account already has an authenticator.")),
    "email_not_confirmed": (
        "",
        N_(
            "Confirm your email address first: follow the link in our email. If you no longer have the email, "
            "reset your password; that confirms the address too."
        ),
    ),
}
"""Field and message by error code. Other errors are shown with their own message."""


def field_error(request: Request, error: ApiError, fields: Sequence[str]) -> tuple[str, str]:
    """The field that ``error`` is about, empty if it is not one of ``fields``, and a translated message."""
    messages = translations_for(request)
    if "retryAfterSeconds" in error.extra:
        minutes = -(-int(error.extra["retryAfterSeconds"]) // 60)
        return "", messages.ngettext(
            "Too many attempts. Try again in %(num)s minute.",
            "Too many attempts. Try again in %(num)s minutes.",
            minutes,
        )
    if error.code == "invalid_input":
        name = str(error.values.get("field", ""))
        message = (name, INPUT_SENTENCES[name]) if name in INPUT_SENTENCES else None
    else:
        message = SENTENCES.get(_message_key(request, error))
    if message is None:
        return "", error.localized(messages.gettext)
    field, sentence = message
    if field == "currentPassword" and field not in fields:
        field = "password"
    return field if field in fields else "", messages.gettext(sentence)


def _message_key(request: Request, error: ApiError) -> str:
    if error.code != "second_factor_required":
        return error.code
    if request.POST.get("code"):
        return "code_refused"
    return "code_missing" if "password" in request.POST else "code_alone"


def platform_title(request: Request, platform: str) -> str:
    """The platform's title; its name if the platform is switched off."""
    if platform == KEY_PLATFORM:
        return str(translations_for(request).gettext("publisher key"))
    configured = auth_services(request).platforms.get(platform)
    return platform if configured is None else configured.title


FORM_TEMPLATE: Final = "modhub_auth:templates/account/form.jinja2"
MESSAGE_TEMPLATE: Final = "modhub_auth:templates/account/message.jinja2"
MARK_FIELD: Final = "commonPassword"
"""The hidden field that confirms a common password (:mod:`modhub_auth.pages.sign_in`)."""
Links = list[tuple[str, str]]
"""Pairs of address and text."""
HOME: Final = "/Modhub/account"
YOUR_ACCOUNT: Final = (HOME, "Your account")


@dataclass(slots=True)
class FormField:
    """One field. ``name`` equals that of the JSON field (C-PAGE-6); ``error`` is translated.

    ``autocomplete`` and ``inputmode`` are the HTML attributes, for password managers and telephone keyboards.
    """

    name: str
    label: str
    type: str = "text"
    autocomplete: str = "off"
    hint: str = ""
    value: str = ""
    required: bool = True
    inputmode: str = ""
    error: str = ""
    check: Callable[[str], object] | None = None
    """Raises an ApiError for an invalid value."""
    options: Sequence[tuple[str, str]] = ()
    """(value, text) of each choice, for a list instead of a line; the first text is a msgid, the others are names."""

    @property
    def is_secret(self) -> bool:
        """Whether it is shown empty again after an error."""
        return self.type == "password" or self.name == "code"

    @property
    def described_by(self) -> str:
        """The ids of the texts below the field."""
        return " ".join(f"{self.name}-{suffix}" for suffix in ("hint", "error") if getattr(self, suffix))


def code_field() -> FormField:
    """The field for a code of the authenticator, or a recovery code."""
    hint = N_("The six digits it shows, or one of your recovery codes.")
    return FormField("code", N_("Authenticator code"), autocomplete="one-time-code", hint=hint)


@dataclass(slots=True)
class FormPage:
    """One page with one form. ``alternatives`` link to other ways to do the same; ``username`` tells password managers
    whose password is changed; ``template_values`` are for the page's own template.

    ``legend`` heads the ``checkboxes`` named ``keep``: value, label, and whether it is ticked.
    """

    title: str
    button: str
    fields: list[FormField]
    lead: list[str] = field(default_factory=list)
    links: Links = field(default_factory=list)
    alternatives: Links = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    username: str = ""
    danger: bool = False
    legend: str = ""
    checkboxes: list[tuple[str, str, bool]] = field(default_factory=list)
    template_values: dict[str, Any] = field(default_factory=dict)

    def input_errors(self, request: Request) -> list[ApiError]:
        """The errors of all fields in the submitted form."""
        errors = []
        for form_field in self.fields:
            try:
                if form_field.check is not None:
                    form_field.check(form_value(request, form_field.name))
            except ApiError as error:
                errors.append(error)
        return errors

    def show(self, request: Request, *api_errors: ApiError) -> dict[str, Any]:
        """The template's values. The page is for this visitor only, signed in or not: it is never stored."""
        never_store(request)
        fields_by_name = {form_field.name: form_field for form_field in self.fields}
        for form_field in self.fields:
            if not form_field.is_secret:
                form_field.value = form_value(request, form_field.name) or form_field.value
        messages = [
            (*field_error(request, api_error, list(fields_by_name)), api_error.code) for api_error in api_errors
        ]
        for field_name, sentence, _ in messages:
            if field_name:
                fields_by_name[field_name].error = sentence
        if mark := form_value(request, MARK_FIELD):
            self.hidden[MARK_FIELD] = mark
        for api_error in api_errors:
            self.hidden |= api_error.extra.get("hidden", {})
        return {"form": self, "errors": messages, **self.template_values}

    def show_errors(self, request: Request, error: ApiError, *others: ApiError) -> dict[str, Any]:
        """The form again with these errors. It keeps the submitted values, except secrets.

        An error may add ``hidden`` fields for the next try.
        """
        forms.set_error_status(request, error)
        return self.show(request, error, *others)


def open_form_page(name: str) -> Callable[[F], F]:
    """Declare a page below the account's with a form that needs no session."""
    return page(context=IAccount, name=name, request_method=("GET", "POST"), permission=OPEN, renderer=FORM_TEMPLATE)


def form_value(request: Request, name: str) -> str:
    """The value of a submitted field; empty without one."""
    value = request.POST.get(name, "") if not request.is_safe else ""
    return value if isinstance(value, str) else ""


def never_store(request: Request) -> None:
    """Forbid caches to store the response: it is for one visitor."""
    request.response.headers["Cache-Control"] = "no-store"


def never_stored(response: Any) -> Any:
    """The response with ``no-store``, for a redirect that sets a cookie and the like."""
    response.headers["Cache-Control"] = "no-store"
    return response


def message_page(
    request: Request,
    message_id: str,
    title: str,
    *lines: str,
    links: Sequence[tuple[str, str]] = (YOUR_ACCOUNT,),
    status: int = 200,
) -> dict[str, Any]:
    """A page with a message alone, whatever the view's renderer is.

    ``message_id`` names the message in the page's HTML, the same in all languages.
    """
    never_store(request)
    request.override_renderer = MESSAGE_TEMPLATE
    request.response.status_int = status
    return {"message_id": message_id, "title": title, "lines": lines, "links": links}


def error_page(request: Request, title: str, error: ApiError, links: Links) -> dict[str, Any]:
    """An error page without a form: the message, and links to go on."""
    if not request.is_safe:
        forms.set_error_status(request, error)
    request.response.headers.update(error.headers)
    sentence = error.localized(translations_for(request).gettext)
    return message_page(request, error.code, title, sentence, links=links, status=error.status)
