"""The address that the file-storage machine reports for itself (C-ADDR-1; C-ADDR-3).

Stored in the database, so that every process follows a change; available as `IStorageAddress`.
A report causes no outgoing request: the address is only stored.
"""

from pyramid.config import Configurator

from modhub.base.service_registry import find_service
from modhub.content import limits
from modhub.db import Databases
from modhub.plugins.resources import ICatalogue
from modhub.plugins.services import IStorageAddress
from modhub.storage_address.read_service import CurrentAddress
from modhub.storage_address.resources import IStorage, StorageAddressResource, StorageResource


def includeme(config: Configurator) -> None:
    """Register the resources, the service and the body limit."""
    config.add_service(IStorageAddress, CurrentAddress(find_service(config.registry, Databases).raw_queries))
    config.add_child(ICatalogue, "storage", StorageResource)
    config.add_child(IStorage, "address", StorageAddressResource)
    config.add_body_limit("POST", "/api/modhub/storage/address", limits.JSON_BODY, credential="X-Api-Key")
    config.scan("modhub.storage_address.views")
