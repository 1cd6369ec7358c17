"""What changelog entries were written from."""

import sqlalchemy as sa
from alembic import op

revision = "core_0018"
down_revision = "core_0017"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Create the table, empty."""
    op.create_table(
        "core_note_source",
        sa.Column("note_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text_format", sa.String(length=10), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("note_id", name=op.f("pk_core_note_source")),
    )


def downgrade() -> None:
    """Drop it."""
    op.drop_table("core_note_source")
