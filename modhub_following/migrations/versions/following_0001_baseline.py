"""Follows and their readers."""

import sqlalchemy as sa
from alembic import op

revision = "following_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "following_follow",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("kind", sa.String(6), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_following_follow"),
        sa.UniqueConstraint("account_id", "kind", "key", name="uq_following_follow_account_id_kind_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_following_follow_target", "following_follow", ["kind", "key"])
    op.create_table(
        "following_reader",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("frequency", sa.String(6), nullable=False),
        sa.Column("language", sa.String(20), nullable=False),
        sa.Column("sent_at", sa.BigInteger()),
        sa.Column("told_until", sa.BigInteger()),
        sa.Column("random_id", sa.String(32), nullable=False),
        sa.Column("seen_at", sa.BigInteger()),
        sa.Column("feed_hash", sa.String(64)),
        sa.Column("feed_made_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("account_id", name="pk_following_reader"),
    )
    op.create_index("ix_following_reader_feed_hash", "following_reader", ["feed_hash"], unique=True)
    op.create_index("ix_following_reader_frequency", "following_reader", ["frequency"])
