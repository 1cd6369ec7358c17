"""Finding what has expired, so that it can be forgotten."""

from alembic import op

revision = "auth_0006"
down_revision = "auth_0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the indexes."""
    op.create_index(op.f("ix_auth_client_expires_at"), "auth_client", ["expires_at"])
    op.create_index(op.f("ix_auth_page_session_used_at"), "auth_page_session", ["used_at"])


def downgrade() -> None:
    """Remove them."""
    op.drop_index(op.f("ix_auth_page_session_used_at"), "auth_page_session")
    op.drop_index(op.f("ix_auth_client_expires_at"), "auth_client")
