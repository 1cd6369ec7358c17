"""Files that wait for the malware scanner, and what it found."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0005"
down_revision = "moderation_0006"
branch_labels = None
depends_on = None
expands = True


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Two tables."""
    op.create_table(
        "moderation_waiting_file",
        sa.Column("blob_key", sa.String(64), nullable=False),
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("rule", sa.String(200), nullable=True),
        sa.PrimaryKeyConstraint("blob_key", name=op.f("pk_moderation_waiting_file")),
    )
    op.create_index(op.f("ix_moderation_waiting_file_mod_id"), "moderation_waiting_file", ["mod_id"])
    op.create_table(
        "moderation_scan_hit",
        sa.Column("id", _id(), nullable=False),
        sa.Column("account_id", _id(), nullable=True),
        sa.Column("mod_id", _id(), nullable=True),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("rule", sa.String(200), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_scan_hit")),
        sqlite_autoincrement=True,
    )
    for column in ("account_id", "mod_id", "sha256", "last_at"):
        op.create_index(op.f(f"ix_moderation_scan_hit_{column}"), "moderation_scan_hit", [column])


def downgrade() -> None:
    """Remove the tables."""
    op.drop_table("moderation_scan_hit")
    op.drop_table("moderation_waiting_file")
