"""The trigram index of PostgreSQL takes what is written at once.

By default new entries wait in a list until a vacuum, and every search goes through that list: with 10,000 mods just
published a search took ten times as long, since the planner then rather read the whole table.
"""

import sqlalchemy as sa
from alembic import op

revision = "core_0003"
down_revision = "core_0002"
branch_labels = None
depends_on = None

_INDEX = "fts_core_text_trigram"


def _is_there() -> bool:
    """No extension is required, so the index may be missing; SQLite has another."""
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return False
    return connection.scalar(sa.select(sa.func.to_regclass(_INDEX))) is not None


def upgrade() -> None:
    """Switch the list off and empty it."""
    if _is_there():
        op.execute(f"ALTER INDEX {_INDEX} SET (fastupdate = off)")
        op.execute(f"SELECT gin_clean_pending_list('{_INDEX}'::regclass)")


def downgrade() -> None:
    """As PostgreSQL has it by itself."""
    if _is_there():
        op.execute(f"ALTER INDEX {_INDEX} RESET (fastupdate)")
