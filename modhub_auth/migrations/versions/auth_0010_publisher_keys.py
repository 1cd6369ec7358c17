"""Publisher keys: what a login of kind "Key" is for and how long it is valid."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0010"
down_revision = "auth_0009"
branch_labels = None
depends_on = None
# A new table. To older code a key is a login that nobody can sign in by.
compatible_with = "auth_0009"


def upgrade() -> None:
    """Create their table."""
    id_type = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "auth_publisher_key",
        sa.Column("login_id", id_type, autoincrement=False, nullable=False),
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("mod_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["login_id"],
            ["auth_login.id"],
            name=op.f("fk_auth_publisher_key_login_id_auth_login"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("login_id", name=op.f("pk_auth_publisher_key")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_auth_publisher_key_key_hash")),
    )


def downgrade() -> None:
    """Remove it."""
    op.drop_table("auth_publisher_key")
