"""The address that the file-storage machine reports for itself (C-ADDR-1; C-ADDR-3).

Stored in the database, so that every process follows a change: `services.CurrentAddress` reads it.
A report causes no outgoing request: the address is only stored.
"""

from pyramid.config import Configurator

from modhub.content import limits
from modhub.plugins.resources import ICatalogue
from modhub.storage_address.views import IStorage, StorageAddressResource, StorageResource


def includeme(config: Configurator) -> None:
    """Register the resources and the body limit."""
    config.add_child(ICatalogue, "storage", StorageResource)
    config.add_child(IStorage, "address", StorageAddressResource)
    config.add_body_limit("POST", "/api/modhub/storage/address", limits.JSON_BODY, credential="X-Api-Key")
    config.scan("modhub.storage_address.views")
