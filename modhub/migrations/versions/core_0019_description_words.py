"""The words of the descriptions of published mods, for the search on pages; triggers keep them.

Triggers, because code of the previous release rewrites public copies without knowing this index (ADR 050).
"""

# ruff: noqa: S608 - all parts of the statements are in this file

import sqlalchemy as sa
from alembic import op

revision = "core_0019"
down_revision = "core_0018"
branch_labels = None
depends_on = None
expands = True

_INDEX = "fts_core_description"
_SOURCE = "core_public_mod"
# What is between the tags. In its document a mod has cleaned HTML: every < begins a tag, every > ends one.
_SQLITE_TEXT = """(
WITH RECURSIVE cut(piece, rest) AS (
SELECT '', coalesce(CASE WHEN json_valid(CAST({row}.document AS TEXT))
THEN json_extract(CAST({row}.document AS TEXT), '$.description') END, '') || '<'
UNION ALL
SELECT substr(rest, 1, instr(rest, '<') - 1),
CASE WHEN instr(rest, '>') > 0 THEN substr(rest, instr(rest, '>') + 1) END
FROM cut WHERE rest IS NOT NULL)
SELECT replace(replace(replace(group_concat(piece, ' '), '&amp;', ' '), '&lt;', ' '), '&gt;', ' ') FROM cut)"""
# Without accents and punctuation, as SQLite's tokenizer has words. A damaged document has none: it must not prevent the
# repair, or the writing of others.
_POSTGRESQL_WORDS = r"""
BEGIN RETURN to_tsvector('simple', regexp_replace(regexp_replace(regexp_replace(normalize(
lower(coalesce(convert_from(document, 'UTF8')::json ->> 'description', '') {collation}), NFKD),
'[\u0300-\u036f]', '', 'g'), '<[^>]*>|&[a-z]+;', ' ', 'g'), '[[:punct:]]', ' ', 'g'));
EXCEPTION WHEN data_exception OR character_not_in_repertoire OR program_limit_exceeded THEN RETURN ''::tsvector; END"""


def upgrade() -> None:
    """Create the index with what is published already."""
    if op.get_bind().dialect.name == "sqlite":
        _upgrade_sqlite()
    else:
        _upgrade_postgresql()


def _upgrade_sqlite() -> None:
    """FTS5 without a copy of the words, numbered by the time of change: the newest hits come straight from it."""
    options = "content='', detail='none', tokenize='unicode61 remove_diacritics 2'"
    op.execute(f"CREATE VIRTUAL TABLE {_INDEX} USING fts5(words, {options})")
    give = f"INSERT INTO {_INDEX}(rowid, words) VALUES (new.updated_at, {_SQLITE_TEXT.format(row='new')});"
    values = f"VALUES ('delete', old.updated_at, {_SQLITE_TEXT.format(row='old')});"
    take = f"INSERT INTO {_INDEX}({_INDEX}, rowid, words) {values}"
    for event, change in (("INSERT", give), ("DELETE", take), ("UPDATE OF document, updated_at", take + give)):
        trigger = f"{_INDEX}_{event.split()[0].lower()}"
        op.execute(f"CREATE TRIGGER {trigger} AFTER {event} ON {_SOURCE} BEGIN {change} END")
    text = _SQLITE_TEXT.format(row=_SOURCE)
    op.execute(f"INSERT INTO {_INDEX}(rowid, words) SELECT updated_at, {text} FROM {_SOURCE}")


def _upgrade_postgresql() -> None:
    """A table beside the public copies: in them, their rows would be too long to be read in passing.

    With the locale C, ``lower`` knows ASCII alone; ICU's collation, which nearly every server has, knows all letters.
    """
    has_icu = op.get_bind().scalar(sa.text("SELECT count(*) FROM pg_collation WHERE collname = 'und-x-icu'"))
    collation = 'COLLATE "und-x-icu"' if has_icu else ""
    op.execute(
        f"CREATE TABLE {_INDEX} (mod_id bigint PRIMARY KEY REFERENCES {_SOURCE} ON DELETE CASCADE, "
        "updated_at bigint NOT NULL, words tsvector NOT NULL)"
    )
    words = _POSTGRESQL_WORDS.format(collation=collation)
    signature = f"{_INDEX}_words(document bytea) RETURNS tsvector LANGUAGE plpgsql"
    op.execute(f"CREATE FUNCTION {signature} AS $body$ {words} $body$")
    op.execute(f"INSERT INTO {_INDEX} SELECT id, updated_at, {_INDEX}_words(document) FROM {_SOURCE}")
    op.execute(f"CREATE INDEX {_INDEX}_found ON {_INDEX} USING gin (words) WITH (fastupdate = off)")
    op.execute(f"CREATE INDEX {_INDEX}_new ON {_INDEX} (updated_at)")
    body = (
        f"BEGIN INSERT INTO {_INDEX} VALUES (new.id, new.updated_at, {_INDEX}_words(new.document)) "
        "ON CONFLICT (mod_id) DO UPDATE SET updated_at = excluded.updated_at, words = excluded.words; "
        "RETURN NULL; END"
    )
    op.execute(f"CREATE FUNCTION {_INDEX}() RETURNS trigger LANGUAGE plpgsql AS $body$ {body} $body$")
    op.execute(
        f"CREATE TRIGGER {_INDEX} AFTER INSERT OR UPDATE OF document, updated_at ON {_SOURCE} "
        f"FOR EACH ROW EXECUTE FUNCTION {_INDEX}()"
    )


def downgrade() -> None:
    """Remove the index and its triggers."""
    if op.get_bind().dialect.name == "sqlite":
        for event in ("insert", "delete", "update"):
            op.execute(f"DROP TRIGGER {_INDEX}_{event}")
        op.execute(f"DROP TABLE {_INDEX}")
        return
    op.execute(f"DROP TRIGGER {_INDEX} ON {_SOURCE}")
    op.execute(f"DROP FUNCTION {_INDEX}()")
    op.execute(f"DROP FUNCTION {_INDEX}_words(bytea)")
    op.execute(f"DROP TABLE {_INDEX}")
