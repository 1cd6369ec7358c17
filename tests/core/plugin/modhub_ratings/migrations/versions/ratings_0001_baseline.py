"""The table of remarks."""

import sqlalchemy as sa
from alembic import op

revision = "ratings_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create it."""
    op.create_table(
        "ratings_remark",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ratings_remark")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("ratings_remark", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_ratings_remark_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_ratings_remark_mod_id"), ["mod_id"], unique=False)


def downgrade() -> None:
    """Remove it."""
    op.drop_table("ratings_remark")
