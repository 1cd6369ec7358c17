"""The section on accounts in the API reference (``/Modhub/doc``): a template, filled with the limits in the code."""

from datetime import timedelta

from pyramid.config import Configurator

from modhub.ui.documentation import PLACE, documentation_section
from modhub_auth.mail.link_tokens import LINK_LIFETIMES, RESET_LINK
from modhub_auth.models import MAX_CLIENT_LABEL, MAX_DISPLAY_NAME
from modhub_auth.schemas import MAX_ACCOUNT_BODY
from modhub_auth.signin import passwords
from modhub_auth.signin.recovery import RESET_EMAILS_PER_WINDOW
from modhub_auth.tokens import ACCESS_SECONDS, REFRESH_LIFE


def includeme(config: Configurator) -> None:
    """Add the section."""
    section = documentation_section(
        "modhub_auth:templates/documentation.jinja2",
        access_seconds=ACCESS_SECONDS,
        body=MAX_ACCOUNT_BODY,
        refresh_days=REFRESH_LIFE.days,
        client=MAX_CLIENT_LABEL,
        display_name=MAX_DISPLAY_NAME,
        letters=RESET_EMAILS_PER_WINDOW,
        passwords=passwords,
        reset_minutes=LINK_LIFETIMES[RESET_LINK] // timedelta(minutes=1),
    )
    config.add_panel(PLACE, "accounts", section, order=30)
