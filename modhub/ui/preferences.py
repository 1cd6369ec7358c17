"""Theme and language of the pages: cookies that exist only after a choice in the footer (C-PAGE-31).

They are harmless: a form of another site could change no more than what a page looks like. So the form has no token,
and pages that everybody shares stay the same for everybody. The way back is the path of ``Referer``, so that no page
has its own address in it: the 404 of an unpublished mod stays the same as any other.
"""

from typing import Any, Final

from modhub.plugins.resources import ISite
from modhub.ui.i18n import LANGUAGE_COOKIE, Catalogs
from modhub.ui.xml_responses import Redirect, previous_page
from modhub.web.own_cookies import own_cookie, set_own_cookie
from modhub.web.request import Request
from modhub.web.views import OPEN, page

THEME_COOKIE: Final = "modhub-theme"
THEMES: Final = ("light", "dark")
SYSTEM: Final = "system"
"""What removes the choice of a theme."""
_YEAR: Final = 365 * 86400


def chosen_theme(request: Request) -> str:
    """``light``, ``dark``, or empty for that of the visitor's system."""
    theme = own_cookie(request, THEME_COOKIE)
    return theme if theme in THEMES else ""


@page(context=ISite, name="preferences", request_method="POST", permission=OPEN, require_csrf=False)
def preferences_submit(_context: Any, request: Request) -> Redirect:
    """``POST /Modhub/preferences``: ``theme`` or ``language``; unknown values change nothing."""
    response = Redirect(previous_page(request))
    response.headers["Cache-Control"] = "no-store"
    theme, language = request.POST.get("theme", ""), request.POST.get("language", "")
    if theme in THEMES:
        set_own_cookie(request, response, THEME_COOKIE, theme, _YEAR)
    elif theme == SYSTEM:
        set_own_cookie(request, response, THEME_COOKIE, "", max_age=0)
    if language in request.find_service(Catalogs).translations:
        set_own_cookie(request, response, LANGUAGE_COOKIE, language, _YEAR)
    return response
