"""What a file was found to be. It stands before core_0023, since a run never drops before it adds."""

import sqlalchemy as sa
from alembic import op

revision = "core_0024"
down_revision = "core_0022"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Columns, empty for the files that are there."""
    op.add_column("core_asset", sa.Column("archive_problems", sa.JSON(), nullable=True))
    op.add_column("core_picture_set", sa.Column("told", sa.String(length=40), nullable=True))


def downgrade() -> None:
    """Remove them."""
    op.drop_column("core_picture_set", "told")
    op.drop_column("core_asset", "archive_problems")
