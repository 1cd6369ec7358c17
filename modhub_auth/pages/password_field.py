"""The password that a form sets: judged by the rules, and the visitor warned of a common one.

The warning leaves the choice to the visitor. The form that warns holds a mark of the password; typed again, the same
one is taken. The mark tells nothing of the password, and is worth nothing on any other visitor's form.
"""

import hmac
from collections.abc import Callable

from pyramid.csrf import get_csrf_token

from modhub.request import Request
from modhub_auth.pages.form_pages import MARK_FIELD, form_value
from modhub_auth.signin.access_tokens import derive_key
from modhub_auth.signin.common_passwords import common_password_error, guessable_words, is_common, password_warning
from modhub_auth.signin.passwords import validate_password


def password_check(request: Request, *personal: str) -> Callable[[str], None]:
    """The check of a form's field: 400 for what breaks a rule, and for a common password the first time.

    ``told``, and what the form says of address and name, make poor passwords.
    """
    settings = request.registry.settings
    words = guessable_words(
        settings["modhub.base_url"], *personal, form_value(request, "email"), form_value(request, "displayName")
    )

    def judge(value: str) -> None:
        password = validate_password(value)
        if not is_common(password, words):
            return
        if settings["modhub_auth.refuse_common_passwords"]:
            raise common_password_error()
        mark = _mark(request, password)
        if not hmac.compare_digest(mark.encode(), form_value(request, MARK_FIELD).encode("utf-8", "replace")):
            raise password_warning({MARK_FIELD: mark})

    return judge


def _mark(request: Request, password: str) -> str:
    key = derive_key(request.registry.settings["modhub.secret"][0], "common password")
    return hmac.digest(key, f"{get_csrf_token(request)} {password}".encode(), "sha256").hex()
