"""The address of the file-storage machine."""

import sqlalchemy as sa
from alembic import op

revision = "core_0002"
down_revision = "core_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One row, there from the start, so that every report is an update that somebody wins."""
    table = op.create_table(
        "core_storage_address",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("base_url", sa.String(length=300), nullable=True),
        sa.Column("reported_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_storage_address")),
    )
    op.bulk_insert(table, [{"id": 1, "base_url": None, "reported_at": None}])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("core_storage_address")
