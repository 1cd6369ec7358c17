"""Accounts, their logins, sessions, keys, and emails."""

import sqlalchemy as sa
from alembic import op

revision = "auth_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create them."""
    op.create_table(
        "auth_account",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("display_name", sa.String(80), nullable=False),
        sa.Column("folded_name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("blocked_at", sa.BigInteger()),
        sa.Column("block_reason", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_auth_account"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "auth_attempt",
        sa.Column("id", ID, nullable=False),
        sa.Column("counter", sa.String(64), nullable=False),
        sa.Column("place", sa.String(32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("settled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_auth_attempt"),
    )
    op.create_index("ix_auth_attempt_at", "auth_attempt", ["at"])
    op.create_index("ix_auth_attempt_counter_at", "auth_attempt", ["counter", "at"])
    op.create_index("ix_auth_attempt_place", "auth_attempt", ["place"])
    op.create_table(
        "auth_letter",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("recipient", sa.String(320), nullable=False),
        sa.Column("sealed", sa.Text()),
        sa.Column("message_id", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("finished_at", sa.BigInteger()),
        sa.Column("problem", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_auth_letter"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_letter_due", "auth_letter", ["finished_at", "next_at"])
    op.create_table(
        "auth_nonce",
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name="pk_auth_nonce"),
    )
    op.create_index("ix_auth_nonce_at", "auth_nonce", ["at"])
    op.create_table(
        "auth_reset_request",
        sa.Column("id", ID, nullable=False),
        sa.Column("address", sa.String(320), nullable=False),
        sa.Column("language", sa.String(20), nullable=False),
        sa.Column("asked_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_auth_reset_request"),
    )
    op.create_table(
        "auth_authenticator",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("sealed", sa.String(255), nullable=False),
        sa.Column("last_step", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["auth_account.id"],
            name="fk_auth_authenticator_account_id_auth_account",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("account_id", name="pk_auth_authenticator"),
    )
    op.create_table(
        "auth_login",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("platform", sa.String(20), nullable=False),
        sa.Column("subject", sa.String(320), nullable=False),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("password_hash", sa.String(255)),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("random_id", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name="fk_auth_login_account_id_auth_account", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_login"),
        sa.UniqueConstraint("platform", "subject", name="uq_auth_login_platform_subject"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_login_account_id", "auth_login", ["account_id"])
    op.create_table(
        "auth_recovery_code",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("code_hash", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"],
            ["auth_account.id"],
            name="fk_auth_recovery_code_account_id_auth_account",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_recovery_code"),
    )
    op.create_index("ix_auth_recovery_code_account_id", "auth_recovery_code", ["account_id"])
    op.create_table(
        "auth_client",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("login_id", ID, nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.Column("refresh_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name="fk_auth_client_account_id_auth_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name="fk_auth_client_login_id_auth_login", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_client"),
        sa.UniqueConstraint("refresh_hash", name="uq_auth_client_refresh_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_client_account_id", "auth_client", ["account_id"])
    op.create_index("ix_auth_client_expires_at", "auth_client", ["expires_at"])
    op.create_index("ix_auth_client_login_id", "auth_client", ["login_id"])
    op.create_table(
        "auth_device_code",
        sa.Column("id", ID, nullable=False),
        sa.Column("device_hash", sa.String(64), nullable=False),
        sa.Column("user_hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("account_id", ID),
        sa.Column("login_id", ID),
        sa.Column("denied", sa.Boolean(), nullable=False),
        sa.Column("polled_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name="fk_auth_device_code_account_id_auth_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name="fk_auth_device_code_login_id_auth_login", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_device_code"),
        sa.UniqueConstraint("device_hash", name="uq_auth_device_code_device_hash"),
        sa.UniqueConstraint("user_hash", name="uq_auth_device_code_user_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_device_code_account_id", "auth_device_code", ["account_id"])
    op.create_index("ix_auth_device_code_expires_at", "auth_device_code", ["expires_at"])
    op.create_index("ix_auth_device_code_login_id", "auth_device_code", ["login_id"])
    op.create_table(
        "auth_link",
        sa.Column("id", ID, nullable=False),
        sa.Column("purpose", sa.String(8), nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("login_id", ID),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("address", sa.String(320)),
        sa.Column("password_hash", sa.String(255)),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name="fk_auth_link_account_id_auth_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name="fk_auth_link_login_id_auth_login", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_link"),
        sa.UniqueConstraint("secret_hash", name="uq_auth_link_secret_hash"),
    )
    op.create_index("ix_auth_link_account_id", "auth_link", ["account_id"])
    op.create_index("ix_auth_link_expires_at", "auth_link", ["expires_at"])
    op.create_index("ix_auth_link_login_id", "auth_link", ["login_id"])
    op.create_table(
        "auth_offer",
        sa.Column("id", ID, nullable=False),
        sa.Column("mod_id", sa.BigInteger(), nullable=False),
        sa.Column("owner_id", ID, nullable=False),
        sa.Column("named", sa.String(320), nullable=False),
        sa.Column("recipient_id", ID),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["owner_id"], ["auth_account.id"], name="fk_auth_offer_owner_id_auth_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["recipient_id"], ["auth_account.id"], name="fk_auth_offer_recipient_id_auth_account", ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_offer"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_offer_expires_at", "auth_offer", ["expires_at"])
    op.create_index("ix_auth_offer_mod_id", "auth_offer", ["mod_id"])
    op.create_index("ix_auth_offer_owner_id", "auth_offer", ["owner_id"])
    op.create_index("ix_auth_offer_recipient_id", "auth_offer", ["recipient_id"])
    op.create_table(
        "auth_page_session",
        sa.Column("id", ID, nullable=False),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("login_id", ID, nullable=False),
        sa.Column("secret_hash", sa.String(64), nullable=False),
        sa.Column("label", sa.String(80), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("proved_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["account_id"], ["auth_account.id"], name="fk_auth_page_session_account_id_auth_account", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name="fk_auth_page_session_login_id_auth_login", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_auth_page_session"),
        sa.UniqueConstraint("secret_hash", name="uq_auth_page_session_secret_hash"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_auth_page_session_account_id", "auth_page_session", ["account_id"])
    op.create_index("ix_auth_page_session_login_id", "auth_page_session", ["login_id"])
    op.create_index("ix_auth_page_session_used_at", "auth_page_session", ["used_at"])
    op.create_table(
        "auth_publisher_key",
        sa.Column("login_id", ID, autoincrement=False, nullable=False),
        sa.Column("key_hash", sa.String(64), nullable=False),
        sa.Column("mod_id", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("used_at", sa.BigInteger()),
        sa.Column("expires_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["login_id"], ["auth_login.id"], name="fk_auth_publisher_key_login_id_auth_login", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("login_id", name="pk_auth_publisher_key"),
        sa.UniqueConstraint("key_hash", name="uq_auth_publisher_key_key_hash"),
    )
