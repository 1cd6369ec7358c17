"""Cases: what is decided about them, what those whom it concerns are told, and appeals."""

from pyramid.config import Configurator

from modhub.plugins.events import AccountDeleted, ModsDeleted
from modhub_moderation.cases import appeal_pages, upkeep
from modhub_moderation.cases.statements import APPEAL_PAGE, OWN_DECISIONS


def includeme(config: Configurator) -> None:
    """Register the addresses, the panels, the subscribers, the worker and the pages."""
    config.include("modhub_moderation.cases.resources")
    config.include("modhub_moderation.cases.blocked")
    config.add_robots_rule(OWN_DECISIONS)
    config.add_robots_rule(APPEAL_PAGE)
    config.add_panel("mine", "decisions", appeal_pages.decisions_panel)
    config.add_panel("account", "decisions", appeal_pages.account_decisions_panel)
    config.add_subscriber(upkeep.forget_parts_of_mods, ModsDeleted)
    config.add_subscriber(upkeep.forget_person, AccountDeleted)
    config.add_worker("decisions that end", upkeep.end_decisions, alone=True)
    config.scan("modhub_moderation.cases.pages")
    config.scan("modhub_moderation.cases.mod_pages")
    config.scan("modhub_moderation.cases.appeal_pages")
