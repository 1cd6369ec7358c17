"""Who may decide: accounts that the operator names."""

from pyramid.config import Configurator

from modhub.events import AccountDeleted
from modhub_moderation.models import Moderator


def forget_moderator(event: AccountDeleted) -> None:
    """A deleted account is no moderator."""
    moderator = event.session.get(Moderator, event.account_id)
    if moderator is not None:
        event.session.delete(moderator)


def includeme(config: Configurator) -> None:
    """Register the subscriber."""
    config.add_subscriber(forget_moderator, AccountDeleted)
