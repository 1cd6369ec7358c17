"""The core's tables as they were first."""

import sqlalchemy as sa
from alembic import op

revision = "core_0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create everything, then what a dialect alone has: the full-text index, the trigram index."""
    op.create_table(
        "core_blob",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("trashed_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_blob")),
        sa.UniqueConstraint("key", name=op.f("uq_core_blob_key")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("core_blob", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_core_blob_trashed_at"), ["trashed_at"], unique=False)

    op.create_table(
        "core_counter",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_core_counter")),
    )
    op.create_table(
        "core_game",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=120), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("display_name", sa.String(length=120), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_game")),
        sa.UniqueConstraint("folded", name=op.f("uq_core_game_folded")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "core_mod",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("guid", sa.String(length=36), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(length=120), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("games", sa.JSON(), nullable=False),
        sa.Column("requires", sa.JSON(), nullable=False),
        sa.Column("conflicts", sa.JSON(), nullable=False),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("ups", sa.Integer(), nullable=False),
        sa.Column("downs", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_mod")),
        sa.UniqueConstraint("guid", name=op.f("uq_core_mod_guid")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("core_mod", schema=None) as batch_op:
        batch_op.create_index("ix_core_mod_owner_updated_at", ["owner", "updated_at", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_core_mod_updated_at"), ["updated_at"], unique=False)

    op.create_table(
        "core_public_mod",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(length=36), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("requires", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_public_mod")),
        sa.UniqueConstraint("guid", name=op.f("uq_core_public_mod_guid")),
    )
    with op.batch_alter_table("core_public_mod", schema=None) as batch_op:
        batch_op.create_index("ix_core_public_mod_new", ["updated_at", "id"], unique=False)
        batch_op.create_index(batch_op.f("ix_core_public_mod_owner"), ["owner"], unique=False)
        batch_op.create_index("ix_core_public_mod_top", ["score", "updated_at", "id"], unique=False)

    op.create_table(
        "core_asset",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=False),
        sa.Column("blob_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_core_asset_blob_id_core_blob")),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name=op.f("fk_core_asset_mod_id_core_mod")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_asset")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("core_asset", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_core_asset_blob_id"), ["blob_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_core_asset_mod_id"), ["mod_id"], unique=False)

    op.create_table(
        "core_game_icon",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("game_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=False),
        sa.Column("blob_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name=op.f("fk_core_game_icon_blob_id_core_blob")),
        sa.ForeignKeyConstraint(["game_id"], ["core_game.id"], name=op.f("fk_core_game_icon_game_id_core_game")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_game_icon")),
        sa.UniqueConstraint("game_id", name=op.f("uq_core_game_icon_game_id")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "core_note",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=120), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("edited_at", sa.BigInteger(), nullable=True),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name=op.f("fk_core_note_mod_id_core_mod")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_core_note")),
        sa.UniqueConstraint("mod_id", "version", name=op.f("uq_core_note_mod_id_version")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "core_public_game",
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mod_id"], ["core_public_mod.id"], name=op.f("fk_core_public_game_mod_id_core_public_mod")
        ),
        sa.PrimaryKeyConstraint("mod_id", "folded", name=op.f("pk_core_public_game")),
    )
    with op.batch_alter_table("core_public_game", schema=None) as batch_op:
        batch_op.create_index("ix_core_public_game_new", ["folded", "updated_at", "mod_id"], unique=False)

    op.create_table(
        "core_public_requirement",
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(length=36), nullable=False),
        sa.ForeignKeyConstraint(
            ["mod_id"], ["core_public_mod.id"], name=op.f("fk_core_public_requirement_mod_id_core_public_mod")
        ),
        sa.PrimaryKeyConstraint("mod_id", "position", name=op.f("pk_core_public_requirement")),
    )
    with op.batch_alter_table("core_public_requirement", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_core_public_requirement_guid"), ["guid"], unique=False)

    op.create_table(
        "core_public_text",
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["mod_id"], ["core_public_mod.id"], name=op.f("fk_core_public_text_mod_id_core_public_mod")
        ),
        sa.PrimaryKeyConstraint("mod_id", name=op.f("pk_core_public_text")),
    )
    with op.batch_alter_table("core_public_text", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_core_public_text_updated_at"), ["updated_at"], unique=False)

    op.create_table(
        "core_vote",
        sa.Column("mod_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.SmallInteger(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name=op.f("fk_core_vote_mod_id_core_mod")),
        sa.PrimaryKeyConstraint("mod_id", "account_id", name=op.f("pk_core_vote")),
    )
    with op.batch_alter_table("core_vote", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_core_vote_account_id"), ["account_id"], unique=False)

    op.bulk_insert(
        sa.table("core_counter", sa.column("name", sa.String), sa.column("value", sa.BigInteger)),
        [{"name": "published mods", "value": 0}],
    )
    if op.get_bind().dialect.name == "sqlite":
        _full_text_index()
    else:
        _trigram_index()


def _full_text_index() -> None:
    """FTS5 over the folded text, numbered by the time of change; triggers keep it, so that nothing can forget to."""
    op.execute(
        "CREATE VIRTUAL TABLE fts_core_text USING fts5("
        "text, content='core_public_text', content_rowid='updated_at', tokenize='trigram case_sensitive 1')"
    )
    take = "INSERT INTO fts_core_text(fts_core_text, rowid, text) VALUES ('delete', old.updated_at, old.text);"
    give = "INSERT INTO fts_core_text(rowid, text) VALUES (new.updated_at, new.text);"
    op.execute(f"CREATE TRIGGER fts_core_text_insert AFTER INSERT ON core_public_text BEGIN {give} END")
    op.execute(f"CREATE TRIGGER fts_core_text_delete AFTER DELETE ON core_public_text BEGIN {take} END")
    op.execute(f"CREATE TRIGGER fts_core_text_update AFTER UPDATE ON core_public_text BEGIN {take} {give} END")


def _trigram_index() -> None:
    """An index for LIKE where the server has the extension and lets us; no extension is required."""
    connection = op.get_bind()
    offered = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if not connection.scalar(offered):
        return
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            connection.execute(
                sa.text("CREATE INDEX fts_core_text_trigram ON core_public_text USING gin (text gin_trgm_ops)")
            )
    except sa.exc.DBAPIError:
        # The role may not create extensions: searches scan the narrow table instead.
        return


def downgrade() -> None:
    """Remove everything."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute("DROP TABLE fts_core_text")
    for table in (
        "core_vote",
        "core_public_text",
        "core_public_requirement",
        "core_public_game",
        "core_note",
        "core_game_icon",
        "core_asset",
        "core_public_mod",
        "core_mod",
        "core_game",
        "core_counter",
        "core_blob",
    ):
        op.drop_table(table)
