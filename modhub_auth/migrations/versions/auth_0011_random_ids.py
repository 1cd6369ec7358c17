"""Tokens name a login by a random id, too, which no other login ever has."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0011"
down_revision = "auth_0010"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Add the column; neither database rewrites the table for it. A login gets its id with its next token."""
    op.add_column("auth_login", sa.Column("random_id", sa.String(length=32), nullable=True))


def downgrade() -> None:
    """Remove it; everybody signs in again."""
    op.drop_column("auth_login", "random_id")
