"""The second factor."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0003"
down_revision = "auth_0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_authenticator",
        sa.Column(
            "account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("sealed", sa.String(length=255), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["auth_account.id"],
            name=op.f("fk_auth_authenticator_account_id_auth_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_auth_authenticator")),
    )
    op.create_table(
        "auth_recovery_code",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("code_hash", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["auth_account.id"],
            name=op.f("fk_auth_recovery_code_account_id_auth_account"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_recovery_code")),
    )
    with op.batch_alter_table("auth_recovery_code", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_recovery_code_account_id"), ["account_id"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("auth_recovery_code")
    op.drop_table("auth_authenticator")
