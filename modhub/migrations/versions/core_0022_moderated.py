"""What moderators removed: files kept aside, versions that stay used, what deleted mods were; files by digest."""

import sqlalchemy as sa
from alembic import op

revision = "core_0022"
down_revision = "core_0021"
branch_labels = None
depends_on = None
expands = True


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables, empty, and two indexes."""
    op.create_table(
        "core_reserved_version",
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", "version", name=op.f("pk_core_reserved_version")),
    )
    op.create_table(
        "core_kept_file",
        sa.Column("blob_id", _id(), nullable=False),
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=False),
        sa.Column("kept_until", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_core_kept_file_blob_id_core_blob")),
        sa.PrimaryKeyConstraint("blob_id", name=op.f("pk_core_kept_file")),
    )
    op.create_index(op.f("ix_core_kept_file_mod_id"), "core_kept_file", ["mod_id"])
    op.create_index(op.f("ix_core_kept_file_kept_until"), "core_kept_file", ["kept_until"])
    op.create_table(
        "core_evidence",
        sa.Column("mod_id", _id(), nullable=False),
        sa.Column("guid", sa.String(length=36), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=False),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_core_evidence")),
    )
    op.create_index(op.f("ix_core_evidence_kept_until"), "core_evidence", ["kept_until"])
    op.create_index(op.f("ix_core_blob_sha256"), "core_blob", ["sha256"])
    op.create_index(op.f("ix_core_note_sha256"), "core_note", ["sha256"])


def downgrade() -> None:
    """Drop them."""
    op.drop_index(op.f("ix_core_note_sha256"), "core_note")
    op.drop_index(op.f("ix_core_blob_sha256"), "core_blob")
    op.drop_table("core_evidence")
    op.drop_table("core_kept_file")
    op.drop_table("core_reserved_version")
