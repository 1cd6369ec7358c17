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
# The letters of _JOINED are among these, in which SQLite looks for them in a third of the time.
_BEYOND = "\u0e00-\u11ff\u1780-\u17ff\u3005-\U0003ffff"
# Letters of scripts that put no spaces between words, or join others to them (Hangul): Thai, Lao, Burmese, Khmer, kana,
# Han. They are indexed one by one and in pairs.
_JOINED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# What is between the tags. In its document a mod has cleaned HTML: every < begins a tag, every > ends one.
_SQLITE_TEXT = """(
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
_POSTGRESQL_WORDS = r"""
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


def upgrade() -> None:
    """Create the index with what is published already."""
    if op.get_bind().dialect.name == "sqlite":
        _upgrade_sqlite()
    else:
        _upgrade_postgresql()


def _upgrade_sqlite() -> None:
    """FTS5 without a copy of the words, numbered by the time of change: the newest hits come straight from it."""
    options = "content='', detail='none', tokenize=\"unicode61 remove_diacritics 2 categories 'L* N* M* Co'\""
    op.execute(f"CREATE VIRTUAL TABLE {_INDEX} USING fts5(words, {options})")
    give = f"INSERT INTO {_INDEX}(rowid, words) VALUES (new.updated_at, {_sqlite_text('new')});"
    values = f"VALUES ('delete', old.updated_at, {_sqlite_text('old')});"
    take = f"INSERT INTO {_INDEX}({_INDEX}, rowid, words) {values}"
    for event, change in (("INSERT", give), ("DELETE", take), ("UPDATE OF document, updated_at", take + give)):
        trigger = f"{_INDEX}_{event.split()[0].lower()}"
        op.execute(f"CREATE TRIGGER {trigger} AFTER {event} ON {_SOURCE} BEGIN {change} END")
    text = _sqlite_text(_SOURCE)
    op.execute(f"INSERT INTO {_INDEX}(rowid, words) SELECT updated_at, {text} FROM {_SOURCE}")


def _sqlite_text(row: str) -> str:
    return _SQLITE_TEXT.format(row=row, beyond=_BEYOND, joined=_JOINED)


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
    words = _POSTGRESQL_WORDS.format(collation=collation, joined=_JOINED)
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
