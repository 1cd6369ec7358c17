"""The password that a form sets: judged by the rules, and the visitor warned of a common one.

The warning leaves the choice to the visitor. The form that warns holds a mark of the password; typed again, the same
one is taken. The mark tells nothing of the password, and is worth nothing on any other visitor's form.
"""

import hmac

from pyramid.csrf import get_csrf_token

from modhub.request import Request
from modhub_auth.common import common_password, is_common, password_warning, words_of
from modhub_auth.pages.sheets import MARK, sent
from modhub_auth.passwords import accepted
from modhub_auth.tokens import derive


def chosen(request: Request, *told: str) -> str:
    """The form's ``password``, ready to be hashed; 400 where it breaks a rule, or is common and this the first time.

    ``told``: the address and the name of the account, which make poor passwords.
    """
    settings = request.registry.settings
    password = accepted(sent(request, "password"))
    if is_common(password, words_of(settings["modhub.base_url"], *told)):
        if settings["modhub_auth.refuse_common_passwords"]:
            raise common_password()
        mark = _mark(request, password)
        if not hmac.compare_digest(mark.encode(), sent(request, MARK).encode("utf-8", "replace")):
            raise password_warning({MARK: mark})
    return password


def _mark(request: Request, password: str) -> str:
    key = derive(request.registry.settings["modhub.secret"][0], "common password")
    return hmac.digest(key, f"{get_csrf_token(request)} {password}".encode(), "sha256").hex()
