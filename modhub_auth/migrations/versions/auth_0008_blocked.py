"""Accounts that the operator has blocked."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0008"
down_revision = "auth_0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add when and why; neither database rewrites the table for it."""
    op.add_column("auth_account", sa.Column("blocked_at", sa.BigInteger(), nullable=True))
    op.add_column("auth_account", sa.Column("block_reason", sa.String(length=200), nullable=True))


def downgrade() -> None:
    """Remove them."""
    op.drop_column("auth_account", "block_reason")
    op.drop_column("auth_account", "blocked_at")
