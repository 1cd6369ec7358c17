"""Snapshots."""

import sqlalchemy as sa
from alembic import op

revision = "sync_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "sync_snapshot",
        sa.Column("id", ID, nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_sync_snapshot_blob_id_core_blob"),
        sa.PrimaryKeyConstraint("id", name="pk_sync_snapshot"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_sync_snapshot_blob_id", "sync_snapshot", ["blob_id"])
