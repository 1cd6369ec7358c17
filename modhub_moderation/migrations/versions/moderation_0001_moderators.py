"""The moderators."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0001"
down_revision = None
branch_labels = None
depends_on = None
expands = True

ACCOUNT_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """One table."""
    op.create_table(
        "moderation_moderator",
        sa.Column("account_id", ACCOUNT_ID, autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_moderation_moderator")),
    )


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("moderation_moderator")
