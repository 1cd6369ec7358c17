"""What a reader has seen, and the address of a feed of one's own."""

import sqlalchemy as sa
from alembic import op

revision = "following_0004"
down_revision = "following_0003"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Add the columns, empty in all rows: unread is what changed since it is followed."""
    op.add_column("following_reader", sa.Column("seen_at", sa.BigInteger(), nullable=True))
    op.add_column("following_reader", sa.Column("feed_hash", sa.String(length=64), nullable=True))
    op.add_column("following_reader", sa.Column("feed_made_at", sa.BigInteger(), nullable=True))
    op.create_index(op.f("ix_following_reader_feed_hash"), "following_reader", ["feed_hash"], unique=True)


def downgrade() -> None:
    """Remove them; the addresses of feeds end."""
    op.drop_index(op.f("ix_following_reader_feed_hash"), "following_reader")
    for column in ("feed_made_at", "feed_hash", "seen_at"):
        op.drop_column("following_reader", column)
