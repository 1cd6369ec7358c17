"""The email that confirms a notice at once (C-NTC-6). What became of it is told by the decision.

Anybody can write anybody's address into a notice. So an address that is not known to be the reporter's gets fixed
sentences, nothing that the notice says, and only as many as ``forgot`` sends.
"""

from typing import Any, Final

from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.ui.i18n import Catalogs
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry, without_links
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin.recovery import RESET_EMAILS_PER_WINDOW
from modhub_moderation.cases.models import Case, Ground, Notice
from modhub_moderation.notices.contacts import find_reporter
from modhub_moderation.notices.grounds import GROUND_TITLES

NOTICE_EMAIL: Final = "notice"
"""The kind of these emails in the outbox."""
ARRIVED: Final = N_("We have received your report")
_ABOUT: Final = N_("Your report at %(site)s about “%(title)s” has arrived.")
_GROUND: Final = N_("Your reason: %(ground)s.")
_WRITTEN_BY_STRANGER: Final = N_("Someone, probably you, sent us a report at %(site)s and gave this email address.")
_WE_LOOK: Final = N_(
    "A moderator will look at it. We will email you when it is decided, and this page will say so too:"
)
_NOT_YOU: Final = N_("If this wasn't you, ignore this email.")


def confirm_notice(registry: Any, session: Session, case: Case, notice: Notice, receipt: str) -> None:
    """Tell the reporter that the notice has arrived, unless too many emails went to an unconfirmed address lately."""
    contact, auth = find_reporter(session, notice), find_service(registry, AuthServices)
    if contact is None:
        return
    messages, site = find_service(registry, Catalogs).choose(notice.locale), registry.settings["modhub.site_name"]
    counter = rate_counter("letter", contact.address, RESET_EMAILS_PER_WINDOW)
    if contact.confirmed:
        ground = messages.gettext(GROUND_TITLES[Ground(notice.ground)])
        about = messages.gettext(_ABOUT, site=site, title=without_links(case.title))
        lines, after = [about, messages.gettext(_GROUND, ground=ground)], []
    elif auth.rate_limiter.allows(session, [counter]):
        lines = [messages.gettext(_WRITTEN_BY_STRANGER, site=site)]
        after = [EmailEntry(lines=[messages.gettext(_NOT_YOU)])]
    else:
        return
    link = f"{registry.settings['modhub.base_url']}/Modhub/notices/{receipt}"
    parts = [EmailEntry(lines=[*lines, messages.gettext(_WE_LOOK)], link=link), *after]
    email = auth.outbox.compose(messages.language, messages.gettext(ARRIVED), parts)
    auth.outbox.queue(session, NOTICE_EMAIL, contact.address, email)
