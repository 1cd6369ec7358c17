"""Counts of downloads by day and by mod; salts and hashes of the current day."""

import sqlalchemy as sa
from alembic import op

revision = "downloads_0001"
down_revision = None
branch_labels = None
depends_on = None

MOD_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Five tables, all empty."""
    op.create_table(
        "downloads_state",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("closed_day", sa.Integer(), nullable=False),
        sa.Column("finished_day", sa.Integer(), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_downloads_state")),
    )
    op.create_table(
        "downloads_salt",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_downloads_salt")),
    )
    op.create_table(
        "downloads_seen",
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("day", "digest", name=op.f("pk_downloads_seen")),
    )
    op.create_table(
        "downloads_day",
        sa.Column("mod_id", MOD_ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("day", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("downloads", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", "version", "day", name=op.f("pk_downloads_day")),
    )
    op.create_table(
        "downloads_mod",
        sa.Column("mod_id", MOD_ID, autoincrement=False, nullable=False),
        sa.Column("downloads", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_downloads_mod")),
    )
    op.create_index("ix_downloads_mod_most", "downloads_mod", ["downloads", "mod_id"])


def downgrade() -> None:
    """Remove the tables, and with them the counts."""
    for table in ("downloads_mod", "downloads_day", "downloads_seen", "downloads_salt", "downloads_state"):
        op.drop_table(table)
