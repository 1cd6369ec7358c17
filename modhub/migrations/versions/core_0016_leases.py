"""The leases of background work that only one process does at a time."""

import sqlalchemy as sa
from alembic import op

revision = "core_0016"
down_revision = "core_0015"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Create the table, empty: the first process takes each lease."""
    op.create_table(
        "core_lease",
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("holder", sa.String(length=32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_core_lease")),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("core_lease")
