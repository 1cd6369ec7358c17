"""Mods that an operator has hidden: since when, and why."""

import sqlalchemy as sa
from alembic import op

revision = "core_0005"
down_revision = "core_0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two columns, empty for every mod that is there; no table is copied for them, however many mods it has."""
    op.add_column("core_mod", sa.Column("hidden_at", sa.BigInteger(), nullable=True))
    op.add_column("core_mod", sa.Column("hidden_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    """Remove them. A hidden mod stays out of sight until ``rebuild`` makes its public copies again."""
    op.drop_column("core_mod", "hidden_reason")
    op.drop_column("core_mod", "hidden_at")
