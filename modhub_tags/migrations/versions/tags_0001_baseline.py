"""The operator's list of tags with what is shipped, and the tags of mods."""

import sqlalchemy as sa
from alembic import op

revision = "tags_0001"
down_revision = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
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
    """Create them."""
    tags = op.create_table(
        "tags_tag",
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("title_en", sa.String(40), nullable=False),
        sa.Column("title_de", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_tags_tag"),
    )
    op.create_table(
        "tags_mod",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("tag", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(["tag"], ["tags_tag.name"], name="fk_tags_mod_tag_tags_tag"),
        sa.PrimaryKeyConstraint("mod_id", "tag", name="pk_tags_mod"),
    )
    op.create_index("ix_tags_mod_tag_mod_id", "tags_mod", ["tag", "mod_id"])
    op.bulk_insert(tags, [{"name": name, "title_en": en, "title_de": de} for name, en, de in SHIPPED])
