"""Changes nothing: it marks the first code whose worker has its lease in the core's table."""

revision = "following_0003"
down_revision = "following_0002"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Nothing: older processes still take the lease of ``following_lease``."""


def downgrade() -> None:
    """Nothing."""
