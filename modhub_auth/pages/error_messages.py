"""Maps API errors to form fields and user-facing messages.

Messages of API errors are written for programs and name JSON fields; a form has labels.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from modhub.base.errors import ApiError
from modhub.content.text import N_
from modhub.ui.template_helpers import translations_for
from modhub.web.request import Request
from modhub_auth.container import auth_services
from modhub_auth.models import KEY_PLATFORM

INPUT_SENTENCES: Final = {
    "email": N_("This is not an email address."),
    "password": N_("The password must have 10 to 1024 characters."),
    "code": N_("This code is wrong. Try the next one your authenticator shows."),
    "label": N_("Enter a label for the key."),
    "mod": N_("This is not one of your mods. Choose another."),
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


def collect_errors(*checks: tuple[Callable[[str], Any], str]) -> list[ApiError]:
    """Run each check on its value and return all errors, not only the first."""
    errors = []
    for check, value in checks:
        try:
            check(value)
        except ApiError as error:
            errors.append(error)
    return errors
