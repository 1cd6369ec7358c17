"""Accounts, their logins and the clients that are signed in."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_account",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("display_name", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_account")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "auth_login",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("platform", sa.String(length=20), nullable=False),
        sa.Column("subject", sa.String(length=320), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name=op.f("fk_auth_login_account_id_auth_account"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_login")),
        sa.UniqueConstraint("platform", "subject", name=op.f("uq_auth_login_platform_subject")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("auth_login", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_login_account_id"), ["account_id"], unique=False)

    op.create_table(
        "auth_client",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("login_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("refresh_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name=op.f("fk_auth_client_account_id_auth_account"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name=op.f("fk_auth_client_login_id_auth_login"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_client")),
        sa.UniqueConstraint("refresh_hash", name=op.f("uq_auth_client_refresh_hash")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("auth_client", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_client_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_client_login_id"), ["login_id"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("auth_client")
    op.drop_table("auth_login")
    op.drop_table("auth_account")
