"""Derived pictures: smaller copies of the images of mods, made outside of requests (docs/adr/032-derived-pictures.md).

A row in :class:`.models.PictureTask` asks for them. The worker of a process claims it, decodes the image in a bounded
child process, and stores the pictures as files of their own.
"""

from pyramid.config import Configurator

from modhub.blobs import BlobStore
from modhub.catalogue.pictures import services
from modhub.catalogue.pictures.worker import PictureWorker
from modhub.db import Databases
from modhub.events import ApplicationStarted
from modhub.service_registry import find_optional_service, find_service


def start_picture_worker(event: ApplicationStarted) -> None:
    """A running service makes pictures in a thread; commands and tests call `PictureWorker.make_next` themselves."""
    store = find_optional_service(event.registry, BlobStore)
    if store is not None:
        PictureWorker(find_service(event.registry, Databases), store).start()


def includeme(config: Configurator) -> None:
    """Start the worker with the application, and let ``modhub-admin verify`` check the rows."""
    config.add_subscriber(start_picture_worker, ApplicationStarted)
    config.add_maintenance("pictures", services.picture_damage)
    config.include("modhub.catalogue.pictures.commands")
