"""Stored files: the interface of a store, the one on local disk, and their part in the transaction."""

from modhub.blobs.data_manager import stage
from modhub.blobs.factory import open_local_store, storage_from_url
from modhub.blobs.local import LocalStore
from modhub.blobs.store import Blob, BlobStore, BlobStoreFactory, Readable, is_key

__all__ = [
    "Blob",
    "BlobStore",
    "BlobStoreFactory",
    "LocalStore",
    "Readable",
    "is_key",
    "open_local_store",
    "stage",
    "storage_from_url",
]
