"""When a vote was cast: the votes of the last days are a part of what is popular."""

import sqlalchemy as sa
from alembic import op

revision = "core_0020"
down_revision = "core_0019"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """A column, empty for the votes that are there, and its index."""
    op.add_column("core_vote", sa.Column("cast_at", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_core_vote_cast_at"), "core_vote", ["cast_at"])


def downgrade() -> None:
    """Remove both."""
    op.drop_index(op.f("ix_core_vote_cast_at"), "core_vote")
    op.drop_column("core_vote", "cast_at")
