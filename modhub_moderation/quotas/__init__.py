"""Quotas: what one account may keep and send (C-QUO)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IQuotas
from modhub_moderation.quotas import panel, subscribers
from modhub_moderation.quotas.limits import QuotaKeeper


def includeme(config: Configurator) -> None:
    """Register the service, the subscriber, the worker and the panel."""
    config.add_service(IQuotas, QuotaKeeper(config.registry))
    config.add_subscriber(subscribers.forget_uploads, AccountDeleted)
    config.add_worker("upload counts", subscribers.purge_uploads, every=3600, alone=True)
    config.add_panel("mine", "quotas", panel.quota_panel)
