"""When mods were first published."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0008"
down_revision = "moderation_0005"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """One table."""
    op.create_table(
        "moderation_publication",
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_moderation_publication")),
    )
    op.create_index(op.f("ix_moderation_publication_published_at"), "moderation_publication", ["published_at"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("moderation_publication")
