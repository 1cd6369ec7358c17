"""The archives of personal data."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0007"
down_revision = "moderation_0008"
branch_labels = None
depends_on = None
expands = True

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """One table."""
    op.create_table(
        "moderation_data_archive",
        sa.Column("account_id", ROW_ID, autoincrement=False, nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.Column("language", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("blob_id", ROW_ID, nullable=True),
        sa.Column("ready_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["blob_id"], ["core_blob.id"], name=op.f("fk_moderation_data_archive_blob_id_core_blob")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_moderation_data_archive")),
    )
    for column in ("blob_id", "next_at", "ready_at"):
        op.create_index(op.f(f"ix_moderation_data_archive_{column}"), "moderation_data_archive", [column])


def downgrade() -> None:
    """Remove the table; the files are orphans, which the sweep removes."""
    op.drop_table("moderation_data_archive")
