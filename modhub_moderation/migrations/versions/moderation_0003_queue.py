"""What the queue shows besides cases: first publications and look-alike titles."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0003"
down_revision = "moderation_0007"
branch_labels = None
depends_on = None
expands = True


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Two tables, empty; a worker fills the titles."""
    op.create_table(
        "moderation_first_publication",
        sa.Column("account_id", _id(), autoincrement=False, nullable=False),
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_moderation_first_publication")),
    )
    for column in ("mod_id", "published_at"):
        op.create_index(op.f(f"ix_moderation_first_publication_{column}"), "moderation_first_publication", [column])
    op.create_table(
        "moderation_title_shape",
        sa.Column("mod_id", _id(), autoincrement=False, nullable=False),
        sa.Column("owner_id", _id(), nullable=False),
        sa.Column("title", sa.String(length=120), nullable=False),
        sa.Column("shape", sa.Text(), nullable=False),
        sa.Column("serial", _id(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_moderation_title_shape")),
    )
    for column in ("shape", "serial"):
        op.create_index(op.f(f"ix_moderation_title_shape_{column}"), "moderation_title_shape", [column])


def downgrade() -> None:
    """Remove them."""
    op.drop_table("moderation_title_shape")
    op.drop_table("moderation_first_publication")
