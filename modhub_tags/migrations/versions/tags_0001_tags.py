"""The operator's list of tags with what is shipped, and the tags of mods."""

import sqlalchemy as sa
from alembic import op

revision = "tags_0001"
down_revision = None
branch_labels = None
depends_on = None
expands = True

MOD_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SHIPPED = (
    ("accessibility", "Accessibility", "Barrierefreiheit"),
    ("chat", "Chat", "Chat"),
    ("cosmetic", "Cosmetic", "Aussehen"),
    ("hud", "HUD", "HUD"),
    ("language", "Language", "Sprache"),
    ("library", "Library", "Bibliothek"),
    ("map", "Map", "Karte"),
    ("timer", "Timer", "Timer"),
    ("tool", "Tool", "Werkzeug"),
    ("tracker", "Tracker", "Tracker"),
)


def upgrade() -> None:
    """Two tables; the list is filled."""
    tags = op.create_table(
        "tags_tag",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("title_en", sa.String(40), nullable=False),
        sa.Column("title_de", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tags_tag")),
    )
    op.create_table(
        "tags_mod",
        sa.Column("mod_id", MOD_ID, autoincrement=False, nullable=False),
        sa.Column("tag", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", "tag", name=op.f("pk_tags_mod")),
        sa.ForeignKeyConstraint(["tag"], ["tags_tag.name"], name=op.f("fk_tags_mod_tag_tags_tag")),
    )
    op.create_index("ix_tags_mod_tag_mod_id", "tags_mod", ["tag", "mod_id"])
    assert tags is not None
    op.bulk_insert(tags, [{"name": name, "title_en": en, "title_de": de} for name, en, de in SHIPPED])


def downgrade() -> None:
    """Remove the tables, and with them the list and the tags of mods."""
    op.drop_table("tags_mod")
    op.drop_table("tags_tag")
