"""Marks the first code whose nightly worker has its lease in the core's table: it does not write ``until``."""

from alembic import op

revision = "downloads_0002"
down_revision = "downloads_0001"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Give the column a default; older processes still write it."""
    with op.batch_alter_table("downloads_state") as state:
        state.alter_column("until", server_default="0")


def downgrade() -> None:
    """Take the default away; the row keeps its value."""
    with op.batch_alter_table("downloads_state") as state:
        state.alter_column("until", server_default=None)
