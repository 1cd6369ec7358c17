"""The core's tables, and the indexes of search, which triggers keep."""

# ruff: noqa: S608 - all parts of the statements are in this file

import secrets

import sqlalchemy as sa
from alembic import op

revision = "core_0001"
down_revision = None

TEXT_INDEX = "fts_core_text"
WORDS_INDEX = "fts_core_description"
# The letters of JOINED are among these, in which SQLite looks for them in a third of the time.
BEYOND = "\u0e00-\u11ff\u1780-\u17ff\u3005-\U0003ffff"
# Letters of scripts that put no spaces between words, or join others to them (Hangul): Thai, Lao, Burmese, Khmer, kana,
# Han. They are indexed one by one and in pairs.
JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# What is between the tags. In its document a mod has cleaned HTML: every < begins a tag, every > ends one.
SQLITE_TEXT = """(
WITH RECURSIVE cut(piece, rest) AS (
SELECT '', coalesce(CASE WHEN json_valid(CAST({row}.document AS TEXT))
THEN json_extract(CAST({row}.document AS TEXT), '$.description') END, '') || '<'
UNION ALL
SELECT substr(rest, 1, instr(rest, '<') - 1),
CASE WHEN instr(rest, '>') > 0 THEN substr(rest, instr(rest, '>') + 1) END
FROM cut WHERE rest IS NOT NULL),
plain(words) AS (
SELECT replace(replace(replace(group_concat(piece, ' '), '&amp;', ' '), '&lt;', ' '), '&gt;', ' ') FROM cut),
part(piece, rest) AS (
SELECT '', words || ' ' FROM plain WHERE words GLOB '*[{beyond}]*'
UNION ALL
SELECT substr(rest, 1, 101), substr(rest, 101) FROM part WHERE length(rest) > 1),
place(number) AS (VALUES (1) UNION ALL SELECT number + 1 FROM place WHERE number < 100),
pair(one, two) AS (
SELECT substr(piece, number, 1), substr(piece, number, 2) FROM part CROSS JOIN place WHERE number < length(piece))
SELECT coalesce((SELECT group_concat(CASE WHEN two GLOB '[{joined}][{joined}]' THEN ' ' || one || ' ' || two || ' '
WHEN one GLOB '[{joined}]' THEN ' ' || one || ' ' ELSE one END, '') FROM pair), words) FROM plain)"""
# Without accents and punctuation, as SQLite's tokenizer has words. A damaged document has none: it must not prevent the
# repair, or the writing of others.
POSTGRESQL_WORDS = r"""
DECLARE plain text; joined text;
BEGIN
plain := normalize(regexp_replace(regexp_replace(regexp_replace(normalize(
lower(coalesce(convert_from(document, 'UTF8')::json ->> 'description', '') {collation}), NFKD),
'[\u0300-\u036f]', '', 'g'), '<[^>]*>|&[a-z]+;', ' ', 'g'), '[[:punct:]]', ' ', 'g'), NFC);
joined := regexp_replace(plain, '[^{joined}]+', ' ', 'g');
RETURN to_tsvector('simple', concat_ws(' ', regexp_replace(plain, '([{joined}])', ' \1 ', 'g'),
regexp_replace(joined, '(\S\S)', '\1 ', 'g'),
regexp_replace(regexp_replace(joined, '(^| )(\S)', '\1\2 ', 'g'), '(\S\S)', '\1 ', 'g')));
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR program_limit_exceeded THEN RETURN ''::tsvector; END"""
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create everything, then what a dialect alone has: the indexes of search."""
    _create_files()
    _create_mods()
    _create_public_copies()
    _create_operation()
    _create_audit()
    connection = op.get_bind()
    op.execute("INSERT INTO core_counter (name, value) VALUES ('published mods', 0)")
    op.execute("INSERT INTO core_storage_address (id) VALUES (1)")  # every report is an update that somebody wins
    generation = sa.text("INSERT INTO core_generation (id, serial, feed) VALUES (1, 0, :feed)")
    connection.execute(generation, {"feed": secrets.token_hex(16)})
    if connection.dialect.name == "sqlite":
        _index_texts_on_sqlite()
        _index_words_on_sqlite()
    else:
        _index_texts_on_postgresql()
        _index_words_on_postgresql()


def _create_files() -> None:
    op.create_table(
        "core_blob",
        sa.Column("id", ID, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("trashed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_core_blob"),
        sa.UniqueConstraint("key", name="uq_core_blob_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_blob_sha256", "core_blob", ["sha256"])
    op.create_index("ix_core_blob_trashed_at", "core_blob", ["trashed_at"])
    op.create_table(
        "core_kept_file",
        sa.Column("blob_id", ID, autoincrement=False, nullable=False),
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("content_type", sa.String(255), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_core_kept_file_blob_id_core_blob"),
        sa.PrimaryKeyConstraint("blob_id", name="pk_core_kept_file"),
    )
    op.create_index("ix_core_kept_file_mod_id", "core_kept_file", ["mod_id"])
    op.create_table(
        "core_storage_address",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("base_url", sa.String(300)),
        sa.Column("reported_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name="pk_core_storage_address"),
    )


def _create_mods() -> None:
    op.create_table(
        "core_mod",
        sa.Column("id", ID, nullable=False),
        sa.Column("guid", sa.String(36), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("title", sa.String(120), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("games", sa.JSON(), nullable=False),
        sa.Column("requires", sa.JSON(), nullable=False),
        sa.Column("conflicts", sa.JSON(), nullable=False),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("published_at", sa.BigInteger()),
        sa.Column("ups", sa.Integer(), nullable=False),
        sa.Column("downs", sa.Integer(), nullable=False),
        sa.Column("hidden_at", sa.BigInteger()),
        sa.Column("hidden_reason", sa.Text()),
        sa.Column("erase_at", sa.BigInteger()),
        sa.Column("former_owner", sa.BigInteger()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_core_mod"),
        sa.UniqueConstraint("guid", name="uq_core_mod_guid"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_mod_erase_at", "core_mod", ["erase_at"])
    op.create_index("ix_core_mod_former_owner", "core_mod", ["former_owner"])
    op.create_index("ix_core_mod_owner_updated_at", "core_mod", ["owner", "updated_at", "id"])
    op.create_index("ix_core_mod_published_at", "core_mod", ["published_at", "id"])
    op.create_index("ix_core_mod_updated_at", "core_mod", ["updated_at"])
    op.create_table(
        "core_asset",
        sa.Column("id", ID, nullable=False),
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("content_type", sa.String(255), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer()),
        sa.Column("caption", sa.String(200)),
        sa.Column("archive_problems", sa.JSON()),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_core_asset_blob_id_core_blob"),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name="fk_core_asset_mod_id_core_mod"),
        sa.PrimaryKeyConstraint("id", name="pk_core_asset"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_asset_blob_id", "core_asset", ["blob_id"])
    op.create_index("ix_core_asset_mod_id", "core_asset", ["mod_id"])
    op.create_table(
        "core_note",
        sa.Column("id", ID, nullable=False),
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("title", sa.String(120)),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("edited_at", sa.BigInteger()),
        sa.Column("automatic", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name="fk_core_note_mod_id_core_mod"),
        sa.PrimaryKeyConstraint("id", name="pk_core_note"),
        sa.UniqueConstraint("mod_id", "version", name="uq_core_note_mod_id_version"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_note_sha256", "core_note", ["sha256"])
    op.create_table(
        "core_note_source",
        sa.Column("note_id", ID, autoincrement=False, nullable=False),
        sa.Column("text_format", sa.String(10), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("note_id", name="pk_core_note_source"),
    )
    op.create_table(
        "core_description_source",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("text_format", sa.String(10), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name="pk_core_description_source"),
    )
    op.create_table(
        "core_successor",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(36), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", name="pk_core_successor"),
    )
    op.create_table(
        "core_vote",
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.SmallInteger(), nullable=False),
        sa.Column("cast_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_mod.id"], name="fk_core_vote_mod_id_core_mod"),
        sa.PrimaryKeyConstraint("mod_id", "account_id", name="pk_core_vote"),
    )
    op.create_index("ix_core_vote_account_id", "core_vote", ["account_id"])
    op.create_index("ix_core_vote_cast_at", "core_vote", ["cast_at"])
    op.create_table(
        "core_game",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("display_name", sa.String(120), nullable=False),
        sa.Column("colour", sa.String(7), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_core_game"),
        sa.UniqueConstraint("folded", name="uq_core_game_folded"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "core_game_icon",
        sa.Column("id", ID, nullable=False),
        sa.Column("game_id", ID, nullable=False),
        sa.Column("side", sa.SmallInteger(), nullable=False),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("content_type", sa.String(255), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("stored_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_core_game_icon_blob_id_core_blob"),
        sa.ForeignKeyConstraint(["game_id"], ["core_game.id"], name="fk_core_game_icon_game_id_core_game"),
        sa.PrimaryKeyConstraint("id", name="pk_core_game_icon"),
        sa.UniqueConstraint("game_id", "side", name="uq_core_game_icon_game_id_side"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "core_picture_task",
        sa.Column("asset_id", ID, autoincrement=False, nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", name="pk_core_picture_task"),
    )
    op.create_table(
        "core_picture_set",
        sa.Column("asset_id", ID, autoincrement=False, nullable=False),
        sa.Column("width", sa.Integer()),
        sa.Column("height", sa.Integer()),
        sa.Column("digest", sa.String(16)),
        sa.Column("sizes", sa.String(100)),
        sa.Column("problem", sa.String(20)),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("told", sa.String(40)),
        sa.PrimaryKeyConstraint("asset_id", name="pk_core_picture_set"),
    )
    op.create_table(
        "core_picture_file",
        sa.Column("id", ID, nullable=False),
        sa.Column("asset_id", ID, nullable=False),
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("content_type", sa.String(20), nullable=False),
        sa.Column("blob_id", ID, nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["blob_id"], ["core_blob.id"], name="fk_core_picture_file_blob_id_core_blob"),
        sa.PrimaryKeyConstraint("id", name="pk_core_picture_file"),
        sa.UniqueConstraint("asset_id", "name", name="uq_core_picture_file_asset_id_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_picture_file_blob_id", "core_picture_file", ["blob_id"])
    op.create_table(
        "core_reserved_version",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("version", sa.String(64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("mod_id", "version", name="pk_core_reserved_version"),
    )
    op.create_table(
        "core_idempotency_key",
        sa.Column("key_sha256", sa.String(64), nullable=False),
        sa.Column("content_sha256", sa.String(64), nullable=False),
        sa.Column("mod_id", ID, nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_sha256", name="pk_core_idempotency_key"),
    )
    op.create_index("ix_core_idempotency_key_used_at", "core_idempotency_key", ["used_at"])


def _create_public_copies() -> None:
    op.create_table(
        "core_public_mod",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(36), nullable=False),
        sa.Column("owner", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("requires", sa.Text(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("links", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_core_public_mod"),
        sa.UniqueConstraint("guid", name="uq_core_public_mod_guid"),
    )
    op.create_index("ix_core_public_mod_new", "core_public_mod", ["updated_at", "id"])
    op.create_index("ix_core_public_mod_owner", "core_public_mod", ["owner"])
    op.create_index("ix_core_public_mod_top", "core_public_mod", ["score", "updated_at", "id"])
    op.create_table(
        "core_public_game",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_public_mod.id"], name="fk_core_public_game_mod_id_core_public_mod"),
        sa.PrimaryKeyConstraint("mod_id", "folded", name="pk_core_public_game"),
    )
    op.create_index("ix_core_public_game_new", "core_public_game", ["folded", "updated_at", "mod_id"])
    op.create_table(
        "core_public_requirement",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("guid", sa.String(36), nullable=False),
        sa.ForeignKeyConstraint(
            ["mod_id"], ["core_public_mod.id"], name="fk_core_public_requirement_mod_id_core_public_mod"
        ),
        sa.PrimaryKeyConstraint("mod_id", "position", name="pk_core_public_requirement"),
    )
    op.create_index("ix_core_public_requirement_guid", "core_public_requirement", ["guid"])
    op.create_table(
        "core_public_text",
        sa.Column("mod_id", ID, autoincrement=False, nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["mod_id"], ["core_public_mod.id"], name="fk_core_public_text_mod_id_core_public_mod"),
        sa.PrimaryKeyConstraint("mod_id", name="pk_core_public_text"),
    )
    op.create_index("ix_core_public_text_updated_at", "core_public_text", ["updated_at"])
    op.create_table(
        "core_counter",
        sa.Column("name", sa.String(40), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_core_counter"),
    )
    op.create_table(
        "core_generation",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("serial", sa.BigInteger(), nullable=False),
        sa.Column("feed", sa.String(32), nullable=False),
        sa.Column("timeline", sa.String(40), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_core_generation"),
    )
    op.create_table(
        "core_change",
        sa.Column("serial", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("key", sa.String(36), nullable=False),
        sa.Column("mod_id", ID),
        sa.Column("what", sa.String(9), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("serial", name="pk_core_change"),
    )
    op.create_index("ix_core_change_key_kind", "core_change", ["key", "kind"], unique=True)


def _create_operation() -> None:
    op.create_table(
        "core_lease",
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("holder", sa.String(32), nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_core_lease"),
    )
    op.create_table(
        "core_observation",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_core_observation"),
    )
    # A new database may be served at once (`modhub.admin.restored`).
    op.execute("INSERT INTO core_observation (name, observed_at, text) VALUES ('database ready', 0, '')")


def _create_audit() -> None:
    op.create_table(
        "core_audit_entry",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor_kind", sa.String(10), nullable=False),
        sa.Column("actor_id", sa.String(80), nullable=False),
        sa.Column("action", sa.String(60), nullable=False),
        sa.Column("target_kind", sa.String(30), nullable=False),
        sa.Column("target_id", sa.Text(), nullable=False),
        sa.Column("details", sa.Text(), nullable=False),
        sa.Column("request_id", sa.String(32), nullable=False),
        sa.Column("address", sa.String(100)),
        sa.Column("name", sa.String(200)),
        sa.PrimaryKeyConstraint("id", name="pk_core_audit_entry"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_core_audit_entry_actor", "core_audit_entry", ["actor_kind", "actor_id"])
    personal = sa.text("address IS NOT NULL OR name IS NOT NULL")
    op.create_index(
        "ix_core_audit_entry_personal", "core_audit_entry", ["at"], sqlite_where=personal, postgresql_where=personal
    )


def _index_texts_on_sqlite() -> None:
    """FTS5 over the folded text, numbered by the time of change; triggers keep it, so that nothing can forget to."""
    op.execute(
        f"CREATE VIRTUAL TABLE {TEXT_INDEX} USING fts5("
        "text, content='core_public_text', content_rowid='updated_at', tokenize='trigram case_sensitive 1')"
    )
    take = f"INSERT INTO {TEXT_INDEX}({TEXT_INDEX}, rowid, text) VALUES ('delete', old.updated_at, old.text);"
    give = f"INSERT INTO {TEXT_INDEX}(rowid, text) VALUES (new.updated_at, new.text);"
    for event, change in (("INSERT", give), ("DELETE", take), ("UPDATE", f"{take} {give}")):
        trigger = f"CREATE TRIGGER {TEXT_INDEX}_{event.lower()} AFTER {event} ON core_public_text"
        op.execute(f"{trigger} BEGIN {change} END")


def _index_words_on_sqlite() -> None:
    """FTS5 without a copy of the words, numbered by the time of change: the newest hits come straight from it."""
    options = "content='', detail='none', tokenize=\"unicode61 remove_diacritics 2 categories 'L* N* M* Co'\""
    op.execute(f"CREATE VIRTUAL TABLE {WORDS_INDEX} USING fts5(words, {options})")
    give = f"INSERT INTO {WORDS_INDEX}(rowid, words) VALUES (new.updated_at, {_sqlite_text('new')});"
    values = f"VALUES ('delete', old.updated_at, {_sqlite_text('old')});"
    take = f"INSERT INTO {WORDS_INDEX}({WORDS_INDEX}, rowid, words) {values}"
    for event, change in (("INSERT", give), ("DELETE", take), ("UPDATE OF document, updated_at", take + give)):
        trigger = f"{WORDS_INDEX}_{event.split()[0].lower()}"
        op.execute(f"CREATE TRIGGER {trigger} AFTER {event} ON core_public_mod BEGIN {change} END")


def _sqlite_text(row: str) -> str:
    return SQLITE_TEXT.format(row=row, beyond=BEYOND, joined=JOINED)


def _index_texts_on_postgresql() -> None:
    """An index for LIKE where the server has the extension and lets us; no extension is required.

    It takes what is written at once: else new entries wait in a list until a vacuum, and every search goes through it.
    """
    connection = op.get_bind()
    offered = sa.text("SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if not connection.scalar(offered):
        return
    index = f"{TEXT_INDEX}_trigram ON core_public_text USING gin (text gin_trgm_ops) WITH (fastupdate = off)"
    try:
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            connection.execute(sa.text(f"CREATE INDEX {index}"))
    except sa.exc.DBAPIError:
        # The role may not create extensions: searches scan the narrow table instead.
        return


def _index_words_on_postgresql() -> None:
    """A table beside the public copies: in them, their rows would be too long to be read in passing.

    With the locale C, ``lower`` knows ASCII alone; ICU's collation, which nearly every server has, knows all letters.
    """
    has_icu = op.get_bind().scalar(sa.text("SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'"))
    collation = 'COLLATE "und-x-icu"' if has_icu else ""
    op.execute(
        f"CREATE TABLE {WORDS_INDEX} (mod_id bigint PRIMARY KEY REFERENCES core_public_mod ON DELETE CASCADE, "
        "updated_at bigint NOT NULL, words tsvector NOT NULL)"
    )
    op.execute(f"CREATE INDEX {WORDS_INDEX}_found ON {WORDS_INDEX} USING gin (words) WITH (fastupdate = off)")
    op.execute(f"CREATE INDEX {WORDS_INDEX}_new ON {WORDS_INDEX} (updated_at)")
    words = POSTGRESQL_WORDS.format(collation=collation, joined=JOINED)
    signature = f"{WORDS_INDEX}_words(document bytea) RETURNS tsvector LANGUAGE plpgsql"
    op.execute(f"CREATE FUNCTION {signature} AS $body$ {words} $body$")
    body = (
        f"BEGIN INSERT INTO {WORDS_INDEX} VALUES (new.id, new.updated_at, {WORDS_INDEX}_words(new.document)) "
        "ON CONFLICT (mod_id) DO UPDATE SET updated_at = excluded.updated_at, words = excluded.words; "
        "RETURN NULL; END"
    )
    op.execute(f"CREATE FUNCTION {WORDS_INDEX}() RETURNS trigger LANGUAGE plpgsql AS $body$ {body} $body$")
    op.execute(
        f"CREATE TRIGGER {WORDS_INDEX} AFTER INSERT OR UPDATE OF document, updated_at ON core_public_mod "
        f"FOR EACH ROW EXECUTE FUNCTION {WORDS_INDEX}()"
    )
