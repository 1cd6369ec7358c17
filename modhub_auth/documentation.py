"""What the reference of the API says of accounts (``/Modhub/doc``): a template, with the limits from where they are."""

from datetime import timedelta

from pyramid.config import Configurator

from modhub.limits import DISPLAY_NAME
from modhub.pages.documentation import PLACE, section
from modhub_auth import passwords
from modhub_auth.links import LIVES, RESET
from modhub_auth.models import CLIENT
from modhub_auth.payloads import BODY
from modhub_auth.recovery import LETTERS
from modhub_auth.tokens import ACCESS_SECONDS, REFRESH_LIFE


def includeme(config: Configurator) -> None:
    """The section."""
    described = section(
        "modhub_auth:templates/documentation.jinja2",
        access_seconds=ACCESS_SECONDS,
        body=BODY,
        refresh_days=REFRESH_LIFE.days,
        client=CLIENT,
        display_name=DISPLAY_NAME,
        letters=LETTERS,
        passwords=passwords,
        reset_minutes=LIVES[RESET] // timedelta(minutes=1),
    )
    config.add_panel(PLACE, "accounts", described, order=30)
