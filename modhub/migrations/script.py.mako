"""${message.rstrip(".")}."""

import sqlalchemy as sa
from alembic import op

revision = "${up_revision}"
down_revision = ${f'"{down_revision}"' if down_revision else None}
branch_labels = None
depends_on = None
# The oldest revision whose code works with this schema, as in "${down_revision}", or None (docs/migrations.md).
compatible_with = None


def upgrade() -> None:
    """Say what changes, and what becomes of the rows that are there."""


def downgrade() -> None:
    """Undo it."""
