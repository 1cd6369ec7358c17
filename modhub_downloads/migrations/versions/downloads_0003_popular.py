"""What is popular this week, and the index by which the downloads of the last days are summed up."""

import sqlalchemy as sa
from alembic import op

revision = "downloads_0003"
down_revision = "downloads_0002"
branch_labels = None
depends_on = None
expands = True

MOD_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Two tables, both empty, and two indexes."""
    op.create_table(
        "downloads_popular",
        sa.Column("mod_id", MOD_ID, autoincrement=False, nullable=False),
        sa.Column("weight", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_downloads_popular")),
    )
    op.create_index("ix_downloads_popular_most", "downloads_popular", ["weight", "mod_id"])
    op.create_table(
        "downloads_popular_state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_downloads_popular_state")),
    )
    op.create_index("ix_downloads_day_day", "downloads_day", ["day", "mod_id"])


def downgrade() -> None:
    """Remove them; the next run of newer code fills the table again."""
    op.drop_index("ix_downloads_day_day", "downloads_day")
    op.drop_table("downloads_popular_state")
    op.drop_table("downloads_popular")
