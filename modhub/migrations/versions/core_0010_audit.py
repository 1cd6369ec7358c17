"""The audit trail: entries, their personal parts, and the head of the chain."""

import sqlalchemy as sa
from alembic import op

revision = "core_0010"
down_revision = "core_0009"
branch_labels = None
depends_on = None
expands = True

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create three empty tables."""
    op.create_table(
        "core_audit_entry",
        sa.Column("id", _ID, nullable=False),
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor_kind", sa.String(10), nullable=False),
        sa.Column("actor_id", sa.String(80), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("target_kind", sa.String(30), nullable=False),
        sa.Column("target_id", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("request_id", sa.String(32), nullable=False),
        sa.Column("personal_digest", sa.String(64), nullable=False),
        sa.Column("mac", sa.String(64), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=True),
        sa.Column("digest", sa.String(64), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_core_audit_entry"),
        sa.UniqueConstraint("token", name="uq_core_audit_entry_token"),
        sa.UniqueConstraint("number", name="uq_core_audit_entry_number"),
        sqlite_autoincrement=True,
    )
    unsealed = sa.text("number IS NULL")
    op.create_index(
        "ix_core_audit_entry_unsealed", "core_audit_entry", ["id"], sqlite_where=unsealed, postgresql_where=unsealed
    )
    op.create_table(
        "core_audit_personal",
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("address", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("salt", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("token", name="pk_core_audit_personal"),
    )
    op.create_index("ix_core_audit_personal_at", "core_audit_personal", ["at"])
    op.create_index("ix_core_audit_personal_account_id", "core_audit_personal", ["account_id"])
    op.create_table(
        "core_audit_head",
        sa.Column("id", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_core_audit_head"),
    )


def downgrade() -> None:
    """Remove them, with everything recorded."""
    op.drop_table("core_audit_head")
    op.drop_table("core_audit_personal")
    op.drop_table("core_audit_entry")
