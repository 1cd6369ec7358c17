"""What a file was found to be when it was stored. It stands before core_0023, since a run never drops before it adds."""

import sqlalchemy as sa
from alembic import op

revision = "core_0024"
down_revision = "core_0022"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """A column, empty for the files that are there."""
    op.add_column("core_asset", sa.Column("archive_problems", sa.JSON(), nullable=True))


def downgrade() -> None:
    """Remove it."""
    op.drop_column("core_asset", "archive_problems")
