"""The ways to the form: on the page of a mod, below each of its images, and on the page of an author."""

from typing import Any, Final

from markupsafe import Markup, escape

from modhub.content.text import N_
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request

REPORT_IMAGE: Final = N_("Report")
_REPORT_MOD: Final = N_("Report this mod")
_REPORT_AUTHOR: Final = N_("Report this author")


def image_address(mod_id: int, asset_id: int) -> str:
    """The form for an image of a mod."""
    return f"/Modhub/{mod_id}/reports?asset={asset_id}"


def report_mod_panel(context: Any, request: Request) -> Markup:
    """The way to report a mod. The core shows it to everybody but the owner."""
    return _link(request, f"/Modhub/{context.id}/reports", _REPORT_MOD)


def report_author_panel(context: Any, request: Request) -> Markup | None:
    """The way to report an author, for everybody else."""
    if PageHelpers(request).account == context.id:
        return None
    return _link(request, f"/Modhub/by/{context.id}/reports", _REPORT_AUTHOR)


def _link(request: Request, address: str, text: str) -> Markup:
    label = escape(PageHelpers(request).messages.gettext(text))
    return Markup(f'<p class="report"><a href="{escape(address)}" rel="nofollow">{label}</a></p>')  # noqa: S704 - escaped
