"""Counts of downloads by day and by mod, the salts and hashes of the current day, and what is popular."""

import sqlalchemy as sa
from alembic import op

revision = "downloads_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "downloads_day",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("downloads", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", "version", "day", name="pk_downloads_day"),
    )
    op.create_index("ix_downloads_day_day", "downloads_day", ["day", "mod_id"])
    op.create_table(
        "downloads_mod",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("downloads", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name="pk_downloads_mod"),
    )
    op.create_index("ix_downloads_mod_most", "downloads_mod", ["downloads", "mod_id"])
    op.create_table(
        "downloads_popular",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("weight", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name="pk_downloads_popular"),
    )
    op.create_index("ix_downloads_popular_most", "downloads_popular", ["weight", "mod_id"])
    op.create_table(
        "downloads_popular_state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("computed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_downloads_popular_state"),
    )
    op.create_table(
        "downloads_salt",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", name="pk_downloads_salt"),
    )
    op.create_table(
        "downloads_seen",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "digest", name="pk_downloads_seen"),
    )
    op.create_table(
        "downloads_state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("closed_day", sa.Integer(), nullable=False),
        sa.Column("finished_day", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_downloads_state"),
    )
