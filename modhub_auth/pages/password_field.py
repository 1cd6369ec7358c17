"""The check of a new password in a form: it applies the rules and warns of a common password.

The warning leaves the choice to the visitor. The form then holds a mark of the password, and the same password is
accepted when typed again. The mark reveals nothing about the password and is invalid in another visitor's form.
"""

import hmac
from collections.abc import Callable

from pyramid.csrf import get_csrf_token

from modhub.web.request import Request
from modhub_auth.pages.form_pages import MARK_FIELD, form_value
from modhub_auth.signin.access_tokens import derive_key
from modhub_auth.signin.common_passwords import common_password_error, guessable_words, is_common, password_warning
from modhub_auth.signin.passwords import validate_password


def password_check(request: Request, *personal: str) -> Callable[[str], None]:
    """The check of a password field: 400 for an invalid password, and the first time for a common one.

    ``personal`` texts, and the address and name in the form, make weak passwords.
    """
    settings = request.registry.settings
    words = guessable_words(settings, *personal, form_value(request, "email"), form_value(request, "displayName"))

    def judge(value: str) -> None:
        password = validate_password(value)
        if not is_common(password, words):
            return
        if settings["modhub_auth.refuse_common_passwords"]:
            raise common_password_error()
        marks, mark = _marks(request, password), form_value(request, MARK_FIELD).encode("utf-8", "replace")
        if not any(hmac.compare_digest(made.encode(), mark) for made in marks):
            raise password_warning({MARK_FIELD: marks[0]})

    return judge


def _marks(request: Request, password: str) -> list[str]:
    """The mark by each secret: the first makes it, all check it (C-TOK-4)."""
    message = f"{get_csrf_token(request)} {password}".encode()
    keys = [derive_key(secret, "common password") for secret in request.registry.settings["modhub.secret"]]
    return [hmac.digest(key, message, "sha256").hex() for key in keys]
