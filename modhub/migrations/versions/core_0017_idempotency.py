"""The keys by which programs repeat calls that create something."""

import sqlalchemy as sa
from alembic import op

revision = "core_0017"
down_revision = "core_0016"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Create the table, empty."""
    op.create_table(
        "core_idempotency_key",
        sa.Column("key_sha256", sa.String(length=64), nullable=False),
        sa.Column("content_sha256", sa.String(length=64), nullable=False),
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_sha256", name=op.f("pk_core_idempotency_key")),
    )
    op.create_index(op.f("ix_core_idempotency_key_used_at"), "core_idempotency_key", ["used_at"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("core_idempotency_key")
