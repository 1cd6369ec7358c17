"""Moderators, notices, cases, decisions, appeals, advisories, quotas and scans."""

import sqlalchemy as sa
from alembic import op

revision = "moderation_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "moderation_advisory",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("prefix", sa.String(5), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("reason", sa.String(500), nullable=False),
        sa.Column("advice", sa.String(500), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("withdrawn_at", sa.BigInteger()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("decision_id", ID),
        sa.PrimaryKeyConstraint("sha256", name="pk_moderation_advisory"),
    )
    op.create_index("ix_moderation_advisory_changed_at_sha256", "moderation_advisory", ["changed_at", "sha256"])
    op.create_index("ix_moderation_advisory_decision_id", "moderation_advisory", ["decision_id"])
    op.create_index("ix_moderation_advisory_prefix", "moderation_advisory", ["prefix"])
    op.create_table(
        "moderation_case",
        sa.Column("id", ID, nullable=False),
        sa.Column("subject_kind", sa.String(10), nullable=False),
        sa.Column("subject_id", ID, nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.Column("open_key", sa.String(40)),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("ended_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_case"),
        sa.UniqueConstraint("open_key", name="uq_moderation_case_open_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_case_ended_at", "moderation_case", ["ended_at"])
    op.create_index("ix_moderation_case_owner_id", "moderation_case", ["owner_id"])
    op.create_index("ix_moderation_case_queue", "moderation_case", ["decided_at", "weight", "opened_at"])
    op.create_index("ix_moderation_case_subject", "moderation_case", ["subject_kind", "subject_id"])
    op.create_table(
        "moderation_counted_upload",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_counted_upload"),
    )
    op.create_index("ix_moderation_counted_upload_account_id_at", "moderation_counted_upload", ["account_id", "at"])
    op.create_index("ix_moderation_counted_upload_at", "moderation_counted_upload", ["at"])
    op.create_table(
        "moderation_moderator",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("account_id", name="pk_moderation_moderator"),
    )
    op.create_table(
        "moderation_scan_hit",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID),
        sa.Column("mod_id", ID),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("rule", sa.String(200), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_scan_hit"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_scan_hit_account_id", "moderation_scan_hit", ["account_id"])
    op.create_index("ix_moderation_scan_hit_last_at", "moderation_scan_hit", ["last_at"])
    op.create_index("ix_moderation_scan_hit_mod_id", "moderation_scan_hit", ["mod_id"])
    op.create_index("ix_moderation_scan_hit_sha256", "moderation_scan_hit", ["sha256"])
    op.create_table(
        "moderation_waiting_file",
        sa.Column("blob_key", sa.String(64), nullable=False),
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.Column("rule", sa.String(200)),
        sa.PrimaryKeyConstraint("blob_key", name="pk_moderation_waiting_file"),
    )
    op.create_index("ix_moderation_waiting_file_mod_id", "moderation_waiting_file", ["mod_id"])
    op.create_table(
        "moderation_decision",
        sa.Column("id", ID, nullable=False),
        sa.Column("case_id", ID, nullable=False),
        sa.Column("replaces_id", ID),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("part", sa.String(40), nullable=False),
        sa.Column("part_key", sa.String(200), nullable=False),
        sa.Column("hides_mods", sa.Boolean(), nullable=False),
        sa.Column("kept", sa.Text()),
        sa.Column("ground", sa.String(10), nullable=False),
        sa.Column("basis", sa.String(10)),
        sa.Column("clause", sa.String(200), nullable=False),
        sa.Column("facts", sa.String(2000), nullable=False),
        sa.Column("origin", sa.String(10), nullable=False),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.Column("moderator_id", ID),
        sa.Column("until", sa.BigInteger()),
        sa.Column("decided_at", sa.BigInteger(), nullable=False),
        sa.Column("appeal_hash", sa.String(64)),
        sa.Column("appeal_until", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["case_id"], ["moderation_case.id"], name="fk_moderation_decision_case_id_moderation_case"
        ),
        sa.ForeignKeyConstraint(
            ["replaces_id"], ["moderation_decision.id"], name="fk_moderation_decision_replaces_id_moderation_decision"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_decision"),
        sa.UniqueConstraint("appeal_hash", name="uq_moderation_decision_appeal_hash"),
        sa.UniqueConstraint("replaces_id", name="uq_moderation_decision_replaces_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_decision_case_id", "moderation_decision", ["case_id"])
    op.create_index("ix_moderation_decision_decided_at", "moderation_decision", ["decided_at"])
    op.create_index("ix_moderation_decision_moderator_id", "moderation_decision", ["moderator_id"])
    op.create_index("ix_moderation_decision_until", "moderation_decision", ["until"])
    op.create_table(
        "moderation_notice",
        sa.Column("id", ID, nullable=False),
        sa.Column("case_id", ID, nullable=False),
        sa.Column("receipt_hash", sa.String(64), nullable=False),
        sa.Column("receipt", sa.String(200)),
        sa.Column("ground", sa.String(10), nullable=False),
        sa.Column("text", sa.String(2000), nullable=False),
        sa.Column("asset_id", ID),
        sa.Column("account_id", ID),
        sa.Column("name", sa.String(120)),
        sa.Column("email", sa.String(320)),
        sa.Column("locale", sa.String(20), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("erased_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["case_id"], ["moderation_case.id"], name="fk_moderation_notice_case_id_moderation_case"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_notice"),
        sa.UniqueConstraint("receipt_hash", name="uq_moderation_notice_receipt_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_notice_account_id", "moderation_notice", ["account_id"])
    op.create_index("ix_moderation_notice_case_id", "moderation_notice", ["case_id"])
    op.create_index("ix_moderation_notice_created_at", "moderation_notice", ["created_at"])
    op.create_table(
        "moderation_appeal",
        sa.Column("id", ID, nullable=False),
        sa.Column("decision_id", ID, nullable=False),
        sa.Column("text", sa.String(2000), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger()),
        sa.Column("outcome", sa.String(10)),
        sa.Column("reasons", sa.String(2000), nullable=False),
        sa.Column("moderator_id", ID),
        sa.ForeignKeyConstraint(
            ["decision_id"], ["moderation_decision.id"], name="fk_moderation_appeal_decision_id_moderation_decision"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_moderation_appeal"),
        sa.UniqueConstraint("decision_id", name="uq_moderation_appeal_decision_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_moderation_appeal_decided_at", "moderation_appeal", ["decided_at"])
