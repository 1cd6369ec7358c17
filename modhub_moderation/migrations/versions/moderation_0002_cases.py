"""Notices, cases, decisions, appeals."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0002"
down_revision = "moderation_0001"
branch_labels = None
depends_on = None
expands = True


def _id() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Six tables."""
    op.create_table(
        "moderation_case",
        sa.Column("id", _id(), nullable=False),
        sa.Column("subject_kind", sa.String(10), nullable=False),
        sa.Column("subject_id", _id(), nullable=False),
        sa.Column("owner_id", _id(), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("open_key", sa.String(40), nullable=True),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_case")),
        sa.UniqueConstraint("open_key", name=op.f("uq_moderation_case_open_key")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_case_subject", "moderation_case", ["subject_kind", "subject_id"])
    op.create_index("ix_moderation_case_queue", "moderation_case", ["decided_at", "weight", "opened_at"])
    op.create_index(op.f("ix_moderation_case_owner_id"), "moderation_case", ["owner_id"])
    op.create_index(op.f("ix_moderation_case_ended_at"), "moderation_case", ["ended_at"])
    op.create_table(
        "moderation_notice",
        sa.Column("id", _id(), nullable=False),
        sa.Column("case_id", _id(), nullable=False),
        sa.Column("receipt_hash", sa.String(64), nullable=False),
        sa.Column("ground", sa.String(10), nullable=False),
        sa.Column("text", sa.String(2000), nullable=False),
        sa.Column("asset_id", _id(), nullable=True),
        sa.Column("account_id", _id(), nullable=True),
        sa.Column("name", sa.String(120), nullable=True),
        sa.Column("email", sa.String(320), nullable=True),
        sa.Column("locale", sa.String(20), nullable=False),
        sa.Column("trusted", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("erased_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["case_id"], ["moderation_case.id"], name=op.f("fk_moderation_notice_case_id_moderation_case")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_notice")),
        sa.UniqueConstraint("receipt_hash", name=op.f("uq_moderation_notice_receipt_hash")),
        sqlite_autoincrement=True,
    )
    for column in ("case_id", "account_id", "created_at"):
        op.create_index(op.f(f"ix_moderation_notice_{column}"), "moderation_notice", [column])
    op.create_table(
        "moderation_trusted_reporter",
        sa.Column("account_id", _id(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_moderation_trusted_reporter")),
    )
    op.create_table(
        "moderation_decision",
        sa.Column("id", _id(), nullable=False),
        sa.Column("case_id", _id(), nullable=False),
        sa.Column("replaces_id", _id(), nullable=True),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("part", sa.String(40), nullable=False),
        sa.Column("part_key", sa.String(200), nullable=False),
        sa.Column("hides_mods", sa.Boolean(), nullable=False),
        sa.Column("ground", sa.String(10), nullable=False),
        sa.Column("basis", sa.String(10), nullable=True),
        sa.Column("clause", sa.String(200), nullable=False),
        sa.Column("facts", sa.String(2000), nullable=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("moderator_id", _id(), nullable=True),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
        sa.Column("appeal_hash", sa.String(64), nullable=True),
        sa.Column("appeal_until", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["case_id"], ["moderation_case.id"], name=op.f("fk_moderation_decision_case_id_moderation_case")
        ),
        sa.ForeignKeyConstraint(
            ["replaces_id"],
            ["moderation_decision.id"],
            name=op.f("fk_moderation_decision_replaces_id_moderation_decision"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_decision")),
        sa.UniqueConstraint("replaces_id", name=op.f("uq_moderation_decision_replaces_id")),
        sa.UniqueConstraint("appeal_hash", name=op.f("uq_moderation_decision_appeal_hash")),
        sqlite_autoincrement=True,
    )
    for column in ("case_id", "moderator_id", "until", "decided_at"):
        op.create_index(op.f(f"ix_moderation_decision_{column}"), "moderation_decision", [column])
    op.create_table(
        "moderation_measure",
        sa.Column("id", _id(), nullable=False),
        sa.Column("decision_id", _id(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("target_id", _id(), nullable=False),
        sa.Column("part", sa.String(40), nullable=False),
        sa.Column("part_key", sa.String(200), nullable=False),
        sa.Column("kept", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["decision_id"],
            ["moderation_decision.id"],
            name=op.f("fk_moderation_measure_decision_id_moderation_decision"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_measure")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_measure_target", "moderation_measure", ["kind", "target_id"])
    op.create_index(op.f("ix_moderation_measure_decision_id"), "moderation_measure", ["decision_id"])
    op.create_table(
        "moderation_appeal",
        sa.Column("id", _id(), nullable=False),
        sa.Column("decision_id", _id(), nullable=False),
        sa.Column("text", sa.String(2000), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("outcome", sa.String(10), nullable=True),
        sa.Column("reasons", sa.String(2000), nullable=False),
        sa.Column("moderator_id", _id(), nullable=True),
        sa.ForeignKeyConstraint(
            ["decision_id"],
            ["moderation_decision.id"],
            name=op.f("fk_moderation_appeal_decision_id_moderation_decision"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_moderation_appeal")),
        sa.UniqueConstraint("decision_id", name=op.f("uq_moderation_appeal_decision_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_moderation_appeal_decided_at"), "moderation_appeal", ["decided_at"])


def downgrade() -> None:
    """Remove them."""
    for name in ("appeal", "measure", "decision", "trusted_reporter", "notice", "case"):
        op.drop_table(f"moderation_{name}")
