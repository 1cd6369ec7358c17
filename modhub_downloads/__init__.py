"""Download counts: once per visitor, version and day, without stored addresses (modhub_downloads/README.md)."""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.content.text import N_
from modhub.db import Databases
from modhub.plugins.events import DownloadStarted, ModsDeleted
from modhub.plugins.resources import IMod
from modhub.plugins.services import IMods
from modhub_downloads import pages, services
from modhub_downloads.counting import (
    NIGHT_SECONDS,
    WRITE_SECONDS,
    DownloadWriter,
    count_download,
    run_night,
    write_counts,
)
from modhub_downloads.models import ModDownloads, PopularMod
from modhub_downloads.popular import POPULAR_LOOK_SECONDS, update_popular
from modhub_downloads.resources import DownloadsResource
from modhub_downloads.services import DownloadCounter


def includeme(config: Configurator) -> None:
    """Register the service, the subscribers, the address, the panels, the orders and the views."""
    config.include("modhub")
    config.add_feature(
        "modhub_downloads",
        N_("Download counts"),
        migrations="downloads_",
        demo="modhub_downloads.demo.fill_download_counts",
    )
    databases, mods = find_service(config.registry, Databases), find_service(config.registry, IMods)
    config.add_service(DownloadWriter, DownloadWriter(databases, mods, DownloadCounter()))
    config.add_subscriber(count_download, DownloadStarted)
    config.add_subscriber(services.delete_counts_of_mods, ModsDeleted)
    config.add_worker("download counts", write_counts, WRITE_SECONDS, at_stop=True)
    config.add_worker("download days", run_night, NIGHT_SECONDS, long=True, alone=True)
    config.add_worker("popular mods", update_popular, POPULAR_LOOK_SECONDS, long=True, alone=True)
    config.add_child(IMod, "downloads", DownloadsResource)
    downloads = {"mod_id": ModDownloads.mod_id, "value": ModDownloads.downloads}
    config.add_mod_column("downloads", **downloads, order=pages.ORDER_TITLE, figure=pages.FIGURE)
    config.add_mod_detail("downloads", services.downloads_of_mods)
    popular = {"mod_id": PopularMod.mod_id, "value": PopularMod.weight}
    config.add_mod_column("popular", **popular, order=pages.POPULAR_TITLE, row=True)
    config.add_panel("workshop", "downloads", pages.workshop_panel, order=50)
    config.scan("modhub_downloads.views")
