"""Letters, the links that they carry, and the sessions of pages."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0004"
down_revision = "auth_0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_letter",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("recipient", sa.String(length=320), nullable=False),
        sa.Column("sealed", sa.Text(), nullable=True),
        sa.Column("message_id", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("problem", sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_letter")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("auth_letter", schema=None) as batch_op:
        batch_op.create_index("ix_auth_letter_due", ["finished_at", "next_at"], unique=False)

    op.create_table(
        "auth_link",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("purpose", sa.String(length=8), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("login_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=True),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name=op.f("fk_auth_link_account_id_auth_account"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name=op.f("fk_auth_link_login_id_auth_login"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_link")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_auth_link_secret_hash")),
    )
    with op.batch_alter_table("auth_link", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_link_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_link_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_link_login_id"), ["login_id"], unique=False)

    op.create_table(
        "auth_page_session",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("login_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("secret_hash", sa.String(length=64), nullable=False),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["auth_account.id"],
            name=op.f("fk_auth_page_session_account_id_auth_account"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name=op.f("fk_auth_page_session_login_id_auth_login"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_page_session")),
        sa.UniqueConstraint("secret_hash", name=op.f("uq_auth_page_session_secret_hash")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("auth_page_session", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_page_session_account_id"), ["account_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_page_session_login_id"), ["login_id"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("auth_page_session")
    op.drop_table("auth_link")
    op.drop_table("auth_letter")
