"""Cases: what is decided about them, what those whom it concerns are told, appeals, and the queue (C-CAS, C-QUE)."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub_auth.resources import IBlockedAccounts
from modhub_moderation.cases import appeal_pages, decisions, queue_pages
from modhub_moderation.cases.appeals import BlockedAccounts
from modhub_moderation.cases.resources import CHILDREN
from modhub_moderation.cases.statements import APPEAL_PAGE, OWN_DECISIONS


def includeme(config: Configurator) -> None:
    """Register the addresses, the service, the panels, the subscribers, the worker and the pages."""
    for parent, name, factory in CHILDREN:
        config.add_child(parent, name, factory)
    config.add_service(IBlockedAccounts, BlockedAccounts())
    config.add_robots_rule(OWN_DECISIONS)
    config.add_robots_rule(APPEAL_PAGE)
    config.add_panel("personal", "moderation", queue_pages.desk_link, order=150)
    config.add_panel("mine", "decisions", appeal_pages.decisions_panel)
    config.add_panel("account", "decisions", appeal_pages.account_decisions_panel)
    config.add_subscriber(decisions.forget_parts_of_mods, ModsDeleted)
    config.add_subscriber(decisions.forget_person, AccountDeleted)
    config.add_worker("decisions that end", decisions.end_decisions, alone=True)
    for pages in ("pages", "queue_pages", "appeal_pages"):
        config.scan(f"modhub_moderation.cases.{pages}")
