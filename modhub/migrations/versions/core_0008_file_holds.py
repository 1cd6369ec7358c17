"""Work during which no file may be swept away: a backup, a restore."""

import sqlalchemy as sa
from alembic import op

revision = "core_0008"
down_revision = "core_0007"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """A small table: one row for each piece of work that is running."""
    op.create_table(
        "core_file_hold",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("renewed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_file_hold")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("core_file_hold")
