"""Derived pictures of images, and the order and captions that owners give their images."""

import time

import sqlalchemy as sa
from alembic import op

revision = "core_0009"
down_revision = "core_0008"
branch_labels = None
depends_on = None
expands = True

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Three tables; every image that is there is queued. Two columns, empty: as uploaded, without a caption."""
    op.create_table(
        "core_picture_task",
        sa.Column("asset_id", ID, autoincrement=False, nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", name=op.f("pk_core_picture_task")),
    )
    op.create_table(
        "core_picture_set",
        sa.Column("asset_id", ID, autoincrement=False, nullable=False),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("digest", sa.String(16), nullable=True),
        sa.Column("sizes", sa.String(100), nullable=True),
        sa.Column("problem", sa.String(20), nullable=True),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", name=op.f("pk_core_picture_set")),
    )
    op.create_table(
        "core_picture_file",
        sa.Column("id", ID, nullable=False),
        sa.Column("asset_id", ID, nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("content_type", sa.String(20), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_core_picture_file_blob_id_core_blob")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_picture_file")),
        sa.UniqueConstraint("asset_id", "name", name=op.f("uq_core_picture_file_asset_id_name")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_core_picture_file_blob_id"), "core_picture_file", ["blob_id"])
    queued = sa.text(
        "INSERT INTO core_picture_task (asset_id, due_at, attempts) SELECT id, :due, 0 FROM core_asset "
        "WHERE kind = 'image' AND lower(content_type) LIKE 'image/%' AND lower(content_type) NOT LIKE 'image/svg+xml%'"
    )
    op.execute(queued.bindparams(due=int(time.time() * 1_000_000)))
    op.add_column("core_asset", sa.Column("position", sa.Integer(), nullable=True))
    op.add_column("core_asset", sa.Column("caption", sa.String(200), nullable=True))


def downgrade() -> None:
    """Remove them. The files of the pictures are trash, which the next sweep removes."""
    op.drop_column("core_asset", "caption")
    op.drop_column("core_asset", "position")
    trashed = sa.text("UPDATE core_blob SET trashed_at = :time WHERE id IN (SELECT blob_id FROM core_picture_file)")
    op.execute(trashed.bindparams(time=int(time.time() * 1_000_000)))
    op.drop_table("core_picture_file")
    op.drop_table("core_picture_set")
    op.drop_table("core_picture_task")
