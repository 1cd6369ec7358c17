"""Snapshots, and the lease of the process that makes them."""

import sqlalchemy as sa
from alembic import op

revision = "sync_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables; the lease is free."""
    op.create_table(
        "sync_snapshot",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("blob_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_sync_snapshot_blob_id_core_blob")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_snapshot")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_sync_snapshot_blob_id"), "sync_snapshot", ["blob_id"])
    lease = op.create_table(
        "sync_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sync_lease")),
    )
    op.bulk_insert(lease, [{"id": 1, "until": 0}])


def downgrade() -> None:
    """Remove both; the next sweep does not know the files, which stay in the list of stored files."""
    op.drop_table("sync_lease")
    op.drop_table("sync_snapshot")
