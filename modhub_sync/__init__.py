"""Following the catalogue: look up by GUID, ask what changed, plan an installation, take a snapshot."""

from pyramid.config import Configurator

from modhub.changes import ChangeReader
from modhub.interfaces import ICatalogue, IPublicMods
from modhub.service_registry import find_service
from modhub_sync import limits
from modhub_sync.read_service import SyncReader
from modhub_sync.resources import GuidsResource, PlanResource


def includeme(config: Configurator) -> None:
    """Register the read service, the resources, body limits and views."""
    config.include("modhub")
    config.add_feature("modhub_sync", "Following the catalogue")
    registry = config.registry
    reader = SyncReader(find_service(registry, IPublicMods), find_service(registry, ChangeReader))
    config.add_service(SyncReader, reader)
    config.add_child(ICatalogue, "guid", GuidsResource)
    config.add_child(ICatalogue, "plan", PlanResource)
    for name in ("lookup", "updates"):
        config.add_body_limit("POST", f"/api/modhub/{name}", limits.QUESTION)
    for name in ("plan", "plan/check"):
        config.add_body_limit("POST", f"/api/modhub/{name}", limits.PLAN_QUESTION)
    config.scan("modhub_sync.views")
