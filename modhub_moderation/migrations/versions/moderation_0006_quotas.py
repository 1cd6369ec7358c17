"""The uploads that count for quotas."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0006"
down_revision = "moderation_0004"
branch_labels = None
depends_on = None
expands = True

ACCOUNT_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """One table."""
    op.create_table(
        "moderation_counted_upload",
        sa.Column("id", ACCOUNT_ID, nullable=False),
        sa.Column("account_id", ACCOUNT_ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_counted_upload")),
    )
    op.create_index("ix_moderation_counted_upload_account_id_at", "moderation_counted_upload", ["account_id", "at"])
    op.create_index(op.f("ix_moderation_counted_upload_at"), "moderation_counted_upload", ["at"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("moderation_counted_upload")
