"""Advisories about files."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0004"
down_revision = "moderation_0002"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """One table."""
    op.create_table(
        "moderation_advisory",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("prefix", sa.String(5), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("advice", sa.String(500), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_at", sa.BigInteger(), nullable=True),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("decision_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_moderation_advisory")),
    )
    op.create_index(op.f("ix_moderation_advisory_prefix"), "moderation_advisory", ["prefix"])
    op.create_index(op.f("ix_moderation_advisory_decision_id"), "moderation_advisory", ["decision_id"])
    op.create_index(op.f("ix_moderation_advisory_changed_at_sha256"), "moderation_advisory", ["changed_at", "sha256"])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("moderation_advisory")
