"""Builds and changelog sections that are there already take part in the list of changes (``modhub.db.changes``)."""

import sqlalchemy as sa
from alembic import op

revision = "builds_0002"
down_revision = "builds_0001"
branch_labels = None
depends_on = None

_KINDS = (
    ("build", "SELECT max(uploaded_at) FROM builds_build"),
    ("app_changelog", "SELECT max(added_at) FROM builds_section WHERE hidden_at IS NULL"),
)


def upgrade() -> None:
    """One row for each kind of which there is anything. No table changes."""
    connection = op.get_bind()
    for kind, newest in _KINDS:
        recorded = sa.text("SELECT 1 FROM core_change WHERE kind = :kind")
        at = connection.scalar(sa.text(newest))
        if at is None or connection.scalar(recorded, {"kind": kind}):
            continue
        connection.execute(sa.text("UPDATE core_generation SET serial = serial + 1"))
        row = "SELECT serial, :kind, '', 'published', :at FROM core_generation"
        insert = f"INSERT INTO core_change (serial, kind, key, what, at) {row}"
        connection.execute(sa.text(insert), {"kind": kind, "at": at})


def downgrade() -> None:
    """The rows stay: they belong to the core."""
