"""App builds and the sections of their changelog."""

import sqlalchemy as sa
from alembic import op

revision = "builds_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "builds_section",
        sa.Column("id", ID, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_builds_section"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "builds_build",
        sa.Column("id", ID, nullable=False),
        sa.Column("os", sa.String(32), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("content_type", sa.String(255), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("uploaded_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_builds_build_blob_id_core_blob"),
        sa.PrimaryKeyConstraint("id", name="pk_builds_build"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_builds_build_blob_id", "builds_build", ["blob_id"])
    op.create_index("ix_builds_build_os_id", "builds_build", ["os", "id"])
