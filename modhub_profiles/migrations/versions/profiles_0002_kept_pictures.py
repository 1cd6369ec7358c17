"""Pictures that moderators removed."""

import sqlalchemy as sa
from alembic import op

revision = "profiles_0002"
down_revision = "profiles_0001"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Create the table, empty."""
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "profiles_kept_picture",
        sa.Column("blob_id", number, nullable=False),
        sa.Column("account_id", number, nullable=False),
        sa.Column("pictured_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_profiles_kept_picture_blob_id_core_blob")),
        sa.PrimaryKeyConstraint("blob_id", name=op.f("pk_profiles_kept_picture")),
    )
    op.create_index(op.f("ix_profiles_kept_picture_account_id"), "profiles_kept_picture", ["account_id"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("profiles_kept_picture")
