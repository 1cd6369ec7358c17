"""Revisions on which older code still works, and what processes observe."""

import sqlalchemy as sa
from alembic import op

revision = "core_0007"
down_revision = "core_0006"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Create two empty tables."""
    op.create_table(
        "core_compatible_revision",
        sa.Column("package", sa.String(length=100), nullable=False),
        sa.Column("revision", sa.String(length=100), nullable=False),
        sa.Column("oldest", sa.String(length=100), nullable=False),
        sa.PrimaryKeyConstraint("package", "revision", name=op.f("pk_core_compatible_revision")),
    )
    op.create_table(
        "core_observation",
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_core_observation")),
    )


def downgrade() -> None:
    """Remove them; both are filled again."""
    op.drop_table("core_observation")
    op.drop_table("core_compatible_revision")
