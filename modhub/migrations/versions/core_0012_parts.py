"""SQLite: an index of all parts of words, so that searches of words of any length are counted in one index."""

import string

from alembic import op

revision = "core_0012"
down_revision = "core_0011"
branch_labels = None
depends_on = None
expands = True

_LONGEST = 8
_INDEX = "fts_core_part"


def _parts(text: str) -> str:
    """The SQL for what each word contains: from each of its characters on, up to eight.

    A prefix of such a part is any substring that fits. Lines come before words: cutting the rest of a long text off
    again and again would take a quarter of a second.
    """
    return (
        "(WITH RECURSIVE lines(line, rest) AS ("  # noqa: S608
        f"SELECT '', {text} || char(10) UNION ALL "
        "SELECT substr(rest, 1, instr(rest, char(10)) - 1) || ' ', substr(rest, instr(rest, char(10)) + 1) "
        "FROM lines WHERE rest <> ''), "
        "words(word, rest) AS ("
        "SELECT '', line FROM lines UNION ALL "
        "SELECT substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) "
        "FROM words WHERE rest <> ''), "
        "ends(word) AS ("
        "SELECT word FROM words UNION ALL SELECT substr(word, 2) FROM ends WHERE length(word) > 1) "
        f"SELECT group_concat(substr(word, 1, {_LONGEST}), ' ') FROM ends)"
    )


def upgrade() -> None:
    """Create and fill it; triggers keep it, those of processes of an older version too."""
    if op.get_bind().dialect.name != "sqlite":
        return
    # Only spaces and control characters separate; other ASCII characters would by themselves.
    tokenizer = "ascii tokenchars '" + string.punctuation.replace("'", "''") + "'"
    prefixes = " ".join(str(length) for length in range(1, _LONGEST))
    options = f"content='', columnsize=0, detail=none, prefix='{prefixes}'"
    quoted = tokenizer.replace('"', '""')
    # Not by op.execute, for which the colon begins a parameter.
    op.get_bind().exec_driver_sql(f'CREATE VIRTUAL TABLE {_INDEX} USING fts5(text, {options}, tokenize="{quoted}")')
    op.execute(f"INSERT INTO {_INDEX}(rowid, text) SELECT mod_id, {_parts('text')} FROM core_public_text")  # noqa: S608
    take = f"INSERT INTO {_INDEX}({_INDEX}, rowid, text) VALUES ('delete', old.mod_id, {_parts('old.text')});"  # noqa: S608
    give = f"INSERT INTO {_INDEX}(rowid, text) VALUES (new.mod_id, {_parts('new.text')});"  # noqa: S608
    for event, statements in (("INSERT", give), ("DELETE", take), ("UPDATE", take + give)):
        trigger = f"CREATE TRIGGER {_INDEX}_{event.lower()} AFTER {event} ON core_public_text"
        op.execute(f"{trigger} BEGIN {statements} END")


def downgrade() -> None:
    """Remove the index and what fills it."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for event in ("insert", "delete", "update"):
        op.execute(f"DROP TRIGGER {_INDEX}_{event}")
    op.execute(f"DROP TABLE {_INDEX}")
