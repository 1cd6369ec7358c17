"""Changes nothing: its drops are core_0023 now, because what a second run of `migrate` drops has to be the last."""

revision = "core_0021"
down_revision = "core_0020"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Nothing."""


def downgrade() -> None:
    """Nothing."""
