"""When a page session was last proved by a platform's sign-in."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0007"
down_revision = "auth_0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the time; sessions that are there have none and are asked."""
    op.add_column("auth_page_session", sa.Column("proved_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    """Remove it."""
    with op.batch_alter_table("auth_page_session", schema=None) as batch_op:
        batch_op.drop_column("proved_at")
