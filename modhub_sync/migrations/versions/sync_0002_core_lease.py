"""Changes nothing: it marks the first code whose worker has its lease in the core's table."""

revision = "sync_0002"
down_revision = "sync_0001"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Nothing: older processes still take the lease of ``sync_lease``."""


def downgrade() -> None:
    """Nothing."""
