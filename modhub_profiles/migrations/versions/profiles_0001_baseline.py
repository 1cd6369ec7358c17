"""Links and licences of mods; sentence, links and picture of authors."""

import sqlalchemy as sa
from alembic import op

revision = "profiles_0001"
down_revision = None
branch_labels = None
depends_on = None
expands = True

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Two tables, both empty."""
    op.create_table(
        "profiles_links",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("source", sa.String(200), nullable=False),
        sa.Column("report", sa.String(200), nullable=False),
        sa.Column("community", sa.String(200), nullable=False),
        sa.Column("license", sa.String(220), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_profiles_links")),
    )
    op.create_table(
        "profiles_author",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("sentence", sa.String(200), nullable=False),
        sa.Column("links", sa.String(603), nullable=False),
        sa.Column("picture_id", ID, nullable=True),
        sa.Column("pictured_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["picture_id"], ["core_blob.id"], name=op.f("fk_profiles_author_picture_id_core_blob")),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_profiles_author")),
    )
    op.create_index("ix_profiles_author_picture_id", "profiles_author", ["picture_id"])


def downgrade() -> None:
    """Remove the tables, and with them what they say."""
    for table in ("profiles_author", "profiles_links"):
        op.drop_table(table)
