"""What descriptions were written from, and which mods supersede others."""

import sqlalchemy as sa
from alembic import op

revision = "core_0011"
down_revision = "core_0010"
branch_labels = None
depends_on = None
expands = True

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create two empty tables: what is stored was written as HTML, and supersedes nothing."""
    op.create_table(
        "core_description_source",
        sa.Column("mod_id", _ID, autoincrement=False, nullable=False),
        sa.Column("text_format", sa.String(10), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_core_description_source")),
    )
    op.create_table(
        "core_successor",
        sa.Column("mod_id", _ID, autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_core_successor")),
    )


def downgrade() -> None:
    """Remove them: descriptions stay as HTML, the notes about successors are lost."""
    op.drop_table("core_successor")
    op.drop_table("core_description_source")
