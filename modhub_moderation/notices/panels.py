"""The ways to the form: on the page of a mod, below each of its images, and on the page of an author."""

from typing import Any, Final

from markupsafe import Markup

from modhub.content.text import N_
from modhub.ui.template_helpers import PageHelpers
from modhub.web.request import Request

_REPORT_AUTHOR: Final = N_("Report this author")


class ReportForms:
    """See :class:`modhub.plugins.moderation.IReportForms`."""

    def mod_address(self, mod_id: int) -> str:
        """The form for a mod."""
        return f"/Modhub/{mod_id}/reports"

    def image_address(self, mod_id: int, asset_id: int) -> str:
        """The form for an image of it."""
        return f"/Modhub/{mod_id}/reports?asset={asset_id}"


def report_author_panel(context: Any, request: Request) -> Markup | None:
    """The way to report an author, for everybody else."""
    if PageHelpers(request).account == context.id:
        return None
    link = Markup('<p class="report"><a href="/Modhub/by/{}/reports" rel="nofollow">{}</a></p>')
    return link.format(context.id, PageHelpers(request).messages.gettext(_REPORT_AUTHOR))
