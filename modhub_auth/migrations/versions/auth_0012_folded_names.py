"""Names of accounts as searches compare them."""

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "auth_0012"
down_revision = "auth_0011"
branch_labels = None
depends_on = None
expands = True

_BATCH = 5000
# A migration does not follow later changes of modhub.content.folding.fold_search, so it has the rule of its day.
_LETTERS = str.maketrans({"æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ł": "l", "ħ": "h", "ı": "i", "þ": "th", "ð": "d"})


def _fold(name: str) -> str:
    folded = name
    for _ in range(3):
        decomposed = unicodedata.normalize("NFKD", folded.casefold())
        folded = "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LETTERS)
    return folded


def upgrade() -> None:
    """Add the column, and fill it for the accounts that are there."""
    op.add_column("auth_account", sa.Column("folded_name", sa.Text()))
    account = sa.table("auth_account", sa.column("id"), sa.column("display_name"), sa.column("folded_name"))
    connection, last = op.get_bind(), 0
    page = sa.select(account.c.id, account.c.display_name).order_by(account.c.id).limit(_BATCH)
    change = sa.update(account).where(account.c.id == sa.bindparam("account"))
    while rows := connection.execute(page.where(account.c.id > last)).all():
        folded = [{"account": row.id, "folded": _fold(row.display_name)} for row in rows]
        connection.execute(change.values(folded_name=sa.bindparam("folded")), folded)
        last = rows[-1].id


def downgrade() -> None:
    """Remove the column."""
    op.drop_column("auth_account", "folded_name")
