"""The serial of what everybody can see, and the latest change of each published mod and of the curated games."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "core_0006"
down_revision = "core_0005"
branch_labels = None
depends_on = None

_MODS = """
INSERT INTO core_change (serial, kind, key, mod_id, what, at)
SELECT row_number() OVER (ORDER BY updated_at, id), 'mod', guid, id, 'published', updated_at FROM core_public_mod
"""
_GAMES = """
INSERT INTO core_change (serial, kind, key, what, at)
SELECT coalesce((SELECT max(serial) FROM core_change), 0) + 1, 'game', '', 'published', :now
WHERE EXISTS (SELECT 1 FROM core_game)
"""


def upgrade() -> None:
    """Two tables; mods that are published already get serials in the order of their last change."""
    generation = op.create_table(
        "core_generation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("feed", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_generation")),
    )
    op.create_table(
        "core_change",
        sa.Column("serial", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("key", sa.String(length=36), nullable=False),
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("what", sa.String(length=9), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("serial", name=op.f("pk_core_change")),
    )
    op.create_index("ix_core_change_key_kind", "core_change", ["key", "kind"], unique=True)
    connection = op.get_bind()
    connection.execute(sa.text(_MODS))
    micros = sa.text("SELECT coalesce(max(updated_at), 0) FROM core_public_mod")
    connection.execute(sa.text(_GAMES), {"now": connection.scalar(micros)})
    last = connection.scalar(sa.text("SELECT coalesce(max(serial), 0) FROM core_change"))
    op.bulk_insert(generation, [{"id": 1, "serial": last, "feed": secrets.token_hex(16)}])


def downgrade() -> None:
    """Remove both; clients that follow the changes begin again after the next upgrade."""
    op.drop_table("core_change")
    op.drop_table("core_generation")
