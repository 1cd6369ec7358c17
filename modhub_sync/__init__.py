"""Following the catalogue: look up by GUID, ask what changed, plan an installation, take a snapshot."""

from pyramid.config import Configurator

from modhub.content.text import N_
from modhub.plugins.resources import ICatalogue, ISite
from modhub.plugins.services import ISigner, ISnapshots
from modhub_sync import limits
from modhub_sync.resources import GuidsResource, PlanResource, SnapshotFilesResource, SnapshotResource
from modhub_sync.signing import SYNC_SETTINGS
from modhub_sync.snapshots import CHECK_SECONDS, SnapshotMaker, describe_snapshot_files, make_snapshot


def includeme(config: Configurator) -> None:
    """Register the service, the resources, body limits, the command and views."""
    config.include("modhub")
    config.add_feature("modhub_sync", N_("Following the catalogue"), settings=SYNC_SETTINGS, migrations="sync_")
    config.add_service(ISnapshots, SnapshotMaker(config.registry))
    config.add_service(ISigner, config.registry.settings["modhub_sync.signing_key"])
    config.add_child(ICatalogue, "guid", GuidsResource)
    config.add_child(ICatalogue, "plan", PlanResource)
    config.add_child(ICatalogue, "snapshot", SnapshotResource)
    config.add_child(ISite, "snapshot", SnapshotFilesResource)
    config.add_cross_origin("/Modhub/snapshot/[^/]+")
    config.add_blob_names("modhub_sync", describe_snapshot_files)
    config.add_worker("snapshots", make_snapshot, CHECK_SECONDS, long=True, alone=True)
    for name in ("lookup", "updates"):
        config.add_body_limit("POST", f"/api/modhub/{name}", limits.QUESTION)
    for name in ("plan", "plan/check"):
        config.add_body_limit("POST", f"/api/modhub/{name}", limits.PLAN_QUESTION)
    config.include("modhub_sync.commands")
    config.scan("modhub_sync.views")
