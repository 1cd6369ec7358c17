"""What happens to counts when mods are deleted, and when the service starts."""

from modhub.events import ApplicationStarted, ModsDeleted
from modhub.service_registry import find_service
from modhub_downloads.counter import DownloadCounter
from modhub_downloads.services import delete_counts
from modhub_downloads.worker import DownloadWorker, DownloadWriter


def delete_counts_of_mods(event: ModsDeleted) -> None:
    """Delete the counts in the transaction of the mods."""
    delete_counts(event.session, event.mod_ids)


def start_download_worker(event: ApplicationStarted) -> None:
    """A running service writes counts in a thread; commands and tests call `DownloadWriter` themselves."""
    seconds = event.registry.settings["modhub_downloads.write_seconds"]
    writer, counter = find_service(event.registry, DownloadWriter), find_service(event.registry, DownloadCounter)
    DownloadWorker(writer, counter, seconds).start()
