"""Changes nothing: it marks the first code that searches by trigrams alone.

That code reads neither PostgreSQL's bitmaps nor SQLite's parts of words. A migration of the next release drops both,
and is compatible with code that knows this one (ADR 046).
"""

revision = "core_0015"
down_revision = "core_0014"
branch_labels = None
depends_on = None
expands = True


def upgrade() -> None:
    """Nothing: older processes still read those tables, and triggers still keep them."""


def downgrade() -> None:
    """Nothing."""
