"""File storage: the store interface, the store on local disk, and its data manager for the transaction."""

from modhub.blobs.data_manager import stage
from modhub.blobs.factory import is_missing_folder, open_local_store, storage_from_url
from modhub.blobs.local import LocalStore
from modhub.blobs.store import Blob, BlobStore, FollowsAddress, RemoteFile

__all__ = [
    "Blob",
    "BlobStore",
    "FollowsAddress",
    "LocalStore",
    "RemoteFile",
    "is_missing_folder",
    "open_local_store",
    "stage",
    "storage_from_url",
]
