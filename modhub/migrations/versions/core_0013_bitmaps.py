"""PostgreSQL: bitmaps of the parts of words that many mods have, so that common searches are counted at once.

It makes empty tables. The service fills them (:mod:`modhub.catalogue.search_bitmaps`); until then searches are counted
as before.
"""

from alembic import op

revision = "core_0013"
down_revision = "core_0012"
branch_labels = None
depends_on = None
expands = True

_TABLES = ("fts_core_bitmap", "fts_core_bitmap_part", "fts_core_bitmap_change")
_TRIGGER = "fts_core_bitmap_changed"


def upgrade() -> None:
    """Create them; a trigger records which texts change, those that processes of an older version write too."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute('CREATE TABLE fts_core_bitmap_part (part text COLLATE "C" PRIMARY KEY)')
    op.execute(
        'CREATE TABLE fts_core_bitmap (part text COLLATE "C", block bigint, hits bit(8192) NOT NULL, '
        "PRIMARY KEY (part, block))"
    )
    # Rows are only inserted, and with ids of their own: so no writer waits for another.
    op.execute(
        "CREATE TABLE fts_core_bitmap_change ("
        "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, mod_id bigint NOT NULL)"
    )
    op.execute(
        f"CREATE FUNCTION {_TRIGGER}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "  # noqa: S608
        "IF TG_OP <> 'INSERT' THEN INSERT INTO fts_core_bitmap_change (mod_id) VALUES (old.mod_id); END IF; "
        "IF TG_OP <> 'DELETE' THEN INSERT INTO fts_core_bitmap_change (mod_id) VALUES (new.mod_id); END IF; "
        "RETURN NULL; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {_TRIGGER} AFTER INSERT OR UPDATE OR DELETE ON core_public_text "
        f"FOR EACH ROW EXECUTE FUNCTION {_TRIGGER}()"
    )


def downgrade() -> None:
    """Remove them and what fills them."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(f"DROP TRIGGER {_TRIGGER} ON core_public_text")
    op.execute(f"DROP FUNCTION {_TRIGGER}()")
    for table in _TABLES:
        op.execute(f"DROP TABLE {table}")
