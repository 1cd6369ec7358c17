"""Names of stored files for the operator: features know what a file is (``config.add_blob_names``)."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.blobs.models import StoredBlob
from modhub.db import bulk

BlobNames = Callable[[Any, Collection[int]], Mapping[int, str]]
"""``names(session, blob_ids)``: what those of the files are that belong to this feature."""


def names_of_keys(session: Session, sources: Mapping[str, BlobNames], keys: Collection[str]) -> dict[str, str]:
    """For each key the name of its file in parentheses, with a space before; empty if nothing refers to it."""
    names = dict.fromkeys(keys, "")
    for batch in bulk.batches(keys):
        ids = {
            row.id: row.key
            for row in session.execute(select(StoredBlob.id, StoredBlob.key).where(StoredBlob.key.in_(batch)))
        }
        for source in sources.values():
            names |= {ids[blob_id]: f" ({name})" for blob_id, name in source(session, list(ids)).items()}
    return names
