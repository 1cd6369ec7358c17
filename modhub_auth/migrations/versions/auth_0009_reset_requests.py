"""Resets that were asked for, until the sender has looked whose they are."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0009"
down_revision = "auth_0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create their table."""
    op.create_table(
        "auth_reset_request",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=False),
        sa.Column("language", sa.String(length=20), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_reset_request")),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("auth_reset_request")
