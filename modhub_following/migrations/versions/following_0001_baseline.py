"""Follows, and what digests still have to say."""

import sqlalchemy as sa
from alembic import op

revision = "following_0001"
down_revision = None
branch_labels = None
depends_on = None


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Five tables; the lease is free."""
    op.create_table(
        "following_follow",
        sa.Column("id", _id(), nullable=False),
        sa.Column("account_id", _id(), nullable=False),
        sa.Column("kind", sa.String(6), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_following_follow")),
        sa.UniqueConstraint("account_id", "kind", "key", name=op.f("uq_following_follow_account_id_kind_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_following_follow_target", "following_follow", ["kind", "key"])
    op.create_table(
        "following_reader",
        sa.Column("account_id", _id(), autoincrement=False, nullable=False),
        sa.Column("frequency", sa.String(6), nullable=False),
        sa.Column("language", sa.String(20), nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_following_reader")),
    )
    op.create_index(op.f("ix_following_reader_frequency"), "following_reader", ["frequency"])
    op.create_table(
        "following_release",
        sa.Column("id", _id(), nullable=False),
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_following_release")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_following_release_mod_id"), "following_release", ["mod_id"])
    op.create_table(
        "following_pending",
        sa.Column("account_id", _id(), autoincrement=False, nullable=False),
        sa.Column("mod_id", _id(), autoincrement=False, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", "mod_id", "version", name=op.f("pk_following_pending")),
    )
    op.create_index(op.f("ix_following_pending_mod_id"), "following_pending", ["mod_id"])
    lease = op.create_table(
        "following_lease",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_following_lease")),
    )
    op.bulk_insert(lease, [{"id": 1, "until": 0}])


def downgrade() -> None:
    """Remove them."""
    for name in ("lease", "pending", "release", "reader", "follow"):
        op.drop_table(f"following_{name}")
