"""Links and licences of mods; sentence, links and picture of authors."""

import sqlalchemy as sa
from alembic import op

revision = "profiles_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "profiles_links",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("report", sa.String(200), nullable=False),
        sa.Column("community", sa.String(200), nullable=False),
        sa.Column("license", sa.String(220), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name="pk_profiles_links"),
    )
    op.create_table(
        "profiles_author",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("sentence", sa.String(200), nullable=False),
        sa.Column("links", sa.String(603), nullable=False),
        sa.Column("picture_id", ID),
        sa.Column("pictured_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(["picture_id"], ["core_blob.id"], name="fk_profiles_author_picture_id_core_blob"),
        sa.PrimaryKeyConstraint("account_id", name="pk_profiles_author"),
    )
    op.create_index("ix_profiles_author_picture_id", "profiles_author", ["picture_id"])
    op.create_table(
        "profiles_kept_picture",
        sa.Column("blob_id", ID, autoincrement=False, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("pictured_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_profiles_kept_picture_blob_id_core_blob"),
        sa.PrimaryKeyConstraint("blob_id", name="pk_profiles_kept_picture"),
    )
    op.create_index("ix_profiles_kept_picture_account_id", "profiles_kept_picture", ["account_id"])
