"""Ids that are skipped where rows may have been lost."""

import pytest
from sqlalchemy import delete, insert

from modhub.admin.row_ids import ID_GAP, last_used_id, skip_ids
from modhub.blobs.models import StoredBlob
from modhub.blobs.store import new_key
from modhub.db import now
from modhub.db.changes import Generation

pytestmark = pytest.mark.postgres

FILES = StoredBlob.__table__


def next_id(connection, **values):
    row = {"key": new_key(), "size": 0, "sha256": "", "created_at": now(), **values}
    return int(connection.execute(insert(FILES).values(row)).inserted_primary_key[0])


@pytest.mark.parametrize("rows", [0, 3])
def test_new_rows_are_numbered_above_all_that_may_be_lost(site, rows):
    # C-MOD-2
    with site.databases.write_engine.begin() as connection:
        numbers = [next_id(connection) for _ in range(rows)]
        connection.execute(delete(FILES))
        skip_ids(connection, FILES)
        number = next_id(connection)
        assert number == max(numbers, default=0) + ID_GAP + 1
        assert last_used_id(connection, FILES) == number
        skip_ids(connection, FILES, given_out=number + 5)
        assert next_id(connection) == number + 5 + ID_GAP + 1


def test_a_row_with_a_number_above_the_sequence_counts(site):
    with site.databases.write_engine.begin() as connection:
        next_id(connection, id=70_000)
        skip_ids(connection, FILES)
        assert next_id(connection) == 70_000 + ID_GAP + 1


def test_tables_that_are_not_numbered_are_left_alone(site):
    with site.databases.write_engine.begin() as connection:
        skip_ids(connection, Generation.__table__)
        assert last_used_id(connection, Generation.__table__) is None
