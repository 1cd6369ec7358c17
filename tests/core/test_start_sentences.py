"""Each mistake that prevents a start has a sentence of its own.

Others: test_core_settings.py, test_blobs_s3.py, tests/auth/test_auth_emails.py.
"""

import re
import sys
import types

import psycopg
import pytest
from sqlalchemy.dialects.postgresql.base import PGDialect

import modhub

POSTGRES = "postgresql+psycopg://modhub@{}"
DEVELOPMENT = "development-only-secret-never-for-production"
FEATURE = "modhub_bookmarks"
MISTAKES = {
    "PostgreSQL is down": (
        {"sqlalchemy.url": "postgresql+psycopg://modhub:hunter2@127.0.0.1:1/modhub"},
        "the database cannot be reached (host 127.0.0.1, port 1, database modhub, user modhub): Connection refused.",
    ),
    "its socket is missing": (
        {"sqlalchemy.url": POSTGRES.format("/modhub?host=/nonexistent")},
        "the database cannot be reached (host /nonexistent, …): No such file or directory.",
    ),
    "its host is unknown": (
        {"sqlalchemy.url": POSTGRES.format("database.invalid/modhub")},
        "the database cannot be reached (host database.invalid, …): failed to resolve host 'database.invalid': …",
    ),
    "the folder of SQLite's file is missing": (
        {"sqlalchemy.url": "sqlite:////nonexistent/modhub.sqlite"},
        "the database cannot be reached: there is no folder /nonexistent for the file modhub.sqlite.",
    ),
    "another kind of database": (
        {"sqlalchemy.url": "mysql://modhub@127.0.0.1/modhub"},
        "the setting sqlalchemy.url cannot be used: it must be sqlite:////absolute/path or "
        "postgresql+psycopg://user:password@host/database.",
    ),
    "a relative path of SQLite's file": (
        {"sqlalchemy.url": "sqlite:///modhub.sqlite"},
        "the setting sqlalchemy.url has a relative path: it must be sqlite:////absolute/path or ….",
    ),
    "the schema is old": (
        {},
        "the database is behind (modhub); run: modhub-admin -c YOUR.ini migrate.",
    ),
    "no secret": (
        {"modhub.secret": None},
        "the setting modhub.secret is missing (one or more of at least 32 characters, one a line; a new "
        "one is last until every process has it).",
    ),
    "a short secret": (
        {"modhub.secret": "x" * 31},
        "the setting modhub.secret must hold at least 32 characters, one secret a line.",
    ),
    "the secret of `development.ini` in public": (
        {
            "modhub.secret": DEVELOPMENT,
            "modhub.base_url": "https://mods.example.org",
        },
        "the setting modhub.secret is the one of development.ini, which only works with a loopback base_url.",
    ),
    "a misspelt key": (
        {"modhub.storge": "x"},
        "the setting modhub.storge is unknown; the nearest is modhub.storage.",
    ),
    "a misspelt or unsupported key of the database": (
        {"sqlalchemy.pool_sise": "1"},
        "the setting sqlalchemy.pool_sise is unknown; the nearest is sqlalchemy.pool_size.",
    ),
    "a value of another kind": (
        {"modhub.lock_seconds": "601"},
        "the setting modhub.lock_seconds must be a whole number from 1 to 600, not '601'.",
    ),
    "a feature that is not installed": (
        {"pyramid.includes": "modhub_wki"},
        "pyramid.includes names modhub_wki, which is not installed.",
    ),
    "a feature twice": (
        {"pyramid.includes": "modhub_wiki modhub_wiki"},
        "pyramid.includes names modhub_wiki twice.",
    ),
    "features separated by commas": (
        {"pyramid.includes": "modhub_auth, modhub_wiki"},
        "pyramid.includes separates features by spaces or line breaks, not by commas.",
    ),
    "a feature without the one that it needs": (
        {"pyramid.includes": FEATURE},
        "modhub_bookmarks needs modhub_auth: name it before modhub_bookmarks in pyramid.includes.",
    ),
    "a feature without its Python module": (
        {"pyramid.includes": FEATURE},
        "modhub_bookmarks needs the Python module reportlab, which is not installed.",
    ),
    "a store without `file://`": (
        {"modhub.storage": "/var/lib/modhub/files"},
        "modhub.storage: not a supported URL; use file:///absolute/folder or s3://bucket/prefix.",
    ),
    "a folder of files that cannot be used": (
        {"modhub.storage": "file:///proc/none"},
        "modhub.storage: the folder /proc/none cannot be used: No such file or directory.",
    ),
}
"""What is set, and what follows ``modhub does not start:``; ``…`` is any text."""


def check_refusal(settings, sentence):
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{name: value for name, value in settings.items() if value is not None})
    message = str(end.value.code).removeprefix("modhub does not start: ")
    assert re.fullmatch(re.escape(sentence).replace("…", ".*"), message), message


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.slow
def test_a_start_says_what_is_wrong(good, mistake, monkeypatch):
    # C-SET-2
    def includeme(config):
        if "Python module" in mistake:
            raise ModuleNotFoundError(name="reportlab")
        config.include("modhub")
        config.add_feature(FEATURE, "Reports", requires=("modhub_auth",))

    feature = types.ModuleType(FEATURE)
    feature.includeme = includeme
    monkeypatch.setitem(sys.modules, FEATURE, feature)
    settings, sentence = MISTAKES[mistake]
    check_refusal(good | settings, sentence)


def test_an_old_postgresql_is_refused(good, postgres, monkeypatch):
    # C-SET-2
    with postgres.database() as url:
        for version, sentence in (
            ((13, 23), "the database is PostgreSQL 13; it must be 14 or later."),
            ((14, 0), MISTAKES["the schema is old"][1]),
        ):
            monkeypatch.setattr(PGDialect, "_get_server_version_info", lambda *_, version=version: version)
            check_refusal(good | {"sqlalchemy.url": url}, sentence)


def test_postgresql_says_what_is_wrong(good, postgres):
    # C-SET-2
    rules = postgres.base / "data" / "pg_hba.conf"
    before, reload = rules.read_text(), "SELECT pg_reload_conf()"
    with postgres.database() as url, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE ROLE modhub LOGIN PASSWORD 'another'")
        missing = f"postgresql+psycopg://modhub@/modhub?{url.partition('?')[2]}"
        try:
            absent = 'the database cannot be reached (…): database "modhub" does not exist.'
            check_refusal(good | {"sqlalchemy.url": missing}, absent)
            rules.write_text("local all modhub scram-sha-256\n" + before)
            connection.execute(reload)
            wrong = 'the database cannot be reached (…): password authentication failed for user "modhub".'
            check_refusal(good | {"sqlalchemy.url": missing.replace("modhub@", "modhub:wrong@")}, wrong)
        finally:
            rules.write_text(before)
            connection.execute(reload)
            connection.execute("DROP ROLE modhub")
