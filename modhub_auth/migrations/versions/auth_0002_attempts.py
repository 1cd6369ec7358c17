"""The counters of attempts."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0002"
down_revision = "auth_0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_attempt",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("counter", sa.String(length=64), nullable=False),
        sa.Column("place", sa.String(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_auth_attempt")),
    )
    with op.batch_alter_table("auth_attempt", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_auth_attempt_at"), ["at"], unique=False)
        batch_op.create_index("ix_auth_attempt_counter_at", ["counter", "at"], unique=False)
        batch_op.create_index(batch_op.f("ix_auth_attempt_place"), ["place"], unique=False)


def downgrade() -> None:
    """Remove them."""
    op.drop_table("auth_attempt")
