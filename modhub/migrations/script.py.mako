"""${message.rstrip(".")}."""

import sqlalchemy as sa
from alembic import op

revision = "${up_revision}"
down_revision = ${f'"{down_revision}"' if down_revision else None}
branch_labels = None
depends_on = None
# True if all code that worked before works with this schema too: it only adds (docs/migrations.md).
expands = False


def upgrade() -> None:
    """Say what changes, and what becomes of the rows that are there."""


def downgrade() -> None:
    """Undo it."""
