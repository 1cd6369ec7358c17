"""The tables of app builds as they were first."""

import sqlalchemy as sa
from alembic import op

revision = "builds_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Builds and changelog sections."""
    op.create_table(
        "builds_build",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("os", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=False),
        sa.Column("blob_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("uploaded_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_builds_build_blob_id_core_blob")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_builds_build")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("builds_build", schema=None) as batch_op:
        batch_op.create_index("ix_builds_build_os_id", ["os", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_builds_build_blob_id"), ["blob_id"], unique=False)

    op.create_table(
        "builds_section",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("hidden_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_builds_section")),
        sqlite_autoincrement=True,
    )


def downgrade() -> None:
    """Remove everything."""
    op.drop_table("builds_section")
    op.drop_table("builds_build")
