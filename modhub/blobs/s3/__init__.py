"""Files in an object store that speaks S3: ``modhub.storage = s3://bucket/prefix`` (ADR 021).

The scheme is declared by the dotted name of the factory: this package is imported, and ``obstore`` with it, only where
such a store is opened.
"""

import re
from collections.abc import Mapping
from typing import Any

from modhub.base.settings import origin
from modhub.blobs.s3.connection import Bucket, S3Connection
from modhub.blobs.s3.store import S3Store

__all__ = ["S3Store", "open_s3_store"]

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9!_.*'()-]+(?:/[A-Za-z0-9!_.*'()-]+)*")


def open_s3_store(url: str, settings: Mapping[str, Any], *, make: bool) -> S3Store:  # noqa: ARG001 - nothing to make
    """``s3://bucket`` or ``s3://bucket/prefix``. Nothing is asked: a store that is down stops no start."""
    name, _, prefix = url.partition("://")[2].partition("/")
    prefix = prefix.strip("/")
    if not _BUCKET.fullmatch(name):
        raise ValueError("modhub.storage: the name of the bucket is missing or wrong; use s3://bucket/prefix.")
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."}.intersection(prefix.split("/"))):
        raise ValueError("modhub.storage: the prefix has letters, digits and the signs !_.*'()-/ alone.")
    access_key, secret_key = settings["modhub.storage.access_key"], settings["modhub.storage.secret_key"]
    if not access_key or not secret_key:
        raise ValueError("modhub.storage: s3:// needs modhub.storage.access_key and .secret_key.")
    region = settings["modhub.storage.region"] or "us-east-1"
    endpoint = _endpoint(settings["modhub.storage.endpoint"]) or f"https://s3.{region}.amazonaws.com"
    return S3Store(S3Connection(Bucket(name, prefix, endpoint, region, access_key, secret_key)))


def _endpoint(value: str) -> str:
    """The origin in the setting; ``http`` is allowed, for a store on this machine or in its own network."""
    if not value:
        return ""
    try:
        return origin(value)
    except ValueError:
        raise ValueError(
            "modhub.storage.endpoint must be an origin such as https://s3.example.org or http://127.0.0.1:8333."
        ) from None
