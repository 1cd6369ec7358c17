"""The nonces of platforms' assertions."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0005"
down_revision = "auth_0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_nonce",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_auth_nonce")),
    )
    with op.batch_alter_table("auth_nonce", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_nonce_at"), ["at"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("auth_nonce")
