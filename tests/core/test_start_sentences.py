"""The table of mistakes in docs/operations.md: each start that fails says exactly what the table says."""

import re
import socket
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.dialects.postgresql.base import PGDialect

import modhub
from modhub import server
from modhub.base.settings import StartRefused
from modhub_testing import TEST_SECRET
from modhub_testing.postgres import PostgresServer

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"
POSTGRES = "postgresql+psycopg://modhub@{}"
DEVELOPMENT = "development-only-secret-never-for-production"
FEATURE = "modhub_bookmarks"
MISTAKES: dict[str, dict[str, str | None]] = {
    "PostgreSQL is down": {"sqlalchemy.url": POSTGRES.format("127.0.0.1:1/modhub")},
    "its socket is missing": {"sqlalchemy.url": POSTGRES.format("/modhub?host=/nonexistent")},
    "its host is unknown": {"sqlalchemy.url": POSTGRES.format("database.invalid/modhub")},
    "the folder of SQLite's file is missing": {"sqlalchemy.url": "sqlite:////nonexistent/modhub.sqlite"},
    "another kind of database": {"sqlalchemy.url": "mysql://modhub@127.0.0.1/modhub"},
    "a relative path of SQLite's file": {"sqlalchemy.url": "sqlite:///modhub.sqlite"},
    "the schema is old": {},
    "no secret": {"modhub.secret": None},
    "a short secret": {"modhub.secret": "x" * 31},
    "the secret of `development.ini` in public": {
        "modhub.secret": DEVELOPMENT,
        "modhub.base_url": "https://mods.example.org",
    },
    "a misspelt key": {"modhub.storge": "x"},
    "a misspelt or unsupported key of the database": {"sqlalchemy.pool_sise": "1"},
    "a value of another kind": {"modhub.lock_seconds": "601"},
    "a `base_url` with a path": {"modhub.base_url": "https://mods.example.org/mods"},
    "a machine key twice": {"ApiPrivateKeys": "one x\none y"},
    "a feature that is not installed": {"pyramid.includes": "modhub_wki"},
    "a feature twice": {"pyramid.includes": "modhub_wiki modhub_wiki"},
    "features separated by commas": {"pyramid.includes": "modhub_auth, modhub_wiki"},
    "a feature without the one that it needs": {"pyramid.includes": FEATURE},
    "a feature without its Python module": {"pyramid.includes": FEATURE},
    "a store without `file://`": {"modhub.storage": "/var/lib/modhub/files"},
    "a folder of files that cannot be used": {"modhub.storage": "file:///proc/none"},
    "an object store without a bucket": {"modhub.storage": "s3://"},
    "a sender that is no address": {"mail.default_sender": "noreply", "pyramid.includes": "modhub_auth"},
    "TLS of the mail server twice": {"mail.ssl": "true", "mail.tls": "true", "pyramid.includes": "modhub_auth"},
}
SERVERS = {"the port is taken": {}, "a wrong `[server:main]`": {"thread": "4"}}
ELSEWHERE = {
    "the password is wrong",  # below, with a real server
    "there is no such database",
    "PostgreSQL is too old",
    "the schema is too new",  # test_core_migrations.py
}


def documented() -> dict[str, str]:
    """The sentences of the table by mistake."""
    table = DOCUMENT.read_text("utf-8").partition("| mistake | the sentence |\n| --- | --- |\n")[2].partition("\n\n")[0]
    rows = (re.fullmatch(r"\| (.+?) \| `(.+)` \|", line) for line in table.splitlines())
    return {row[1]: row[2] for row in rows if row is not None}


def is_said(message: str, sentence: str) -> bool:
    return re.fullmatch(re.escape(sentence).replace("…", ".*"), message) is not None


def refusal(settings: dict[str, str | None]) -> str:
    with pytest.raises(SystemExit) as end:
        modhub.main({}, **{name: value for name, value in settings.items() if value is not None})
    return str(end.value.code).removeprefix("modhub does not start: ")


@pytest.fixture
def good(tmp_path: Path) -> dict[str, str | None]:
    return {"sqlalchemy.url": f"sqlite:///{tmp_path}/x.sqlite", "modhub.secret": TEST_SECRET}


def test_every_row_is_tried() -> None:
    # C-RUN-29
    assert documented().keys() == MISTAKES.keys() | SERVERS.keys() | ELSEWHERE


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.slow
def test_a_start_says_what_the_document_says(
    good: dict[str, str | None], mistake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-29
    def includeme(config: Any) -> None:
        if "Python module" in mistake:
            raise ModuleNotFoundError(name="reportlab")
        config.include("modhub")
        config.add_feature(FEATURE, "Reports", requires=("modhub_auth",))

    feature = types.ModuleType(FEATURE)
    feature.includeme = includeme  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, FEATURE, feature)
    message = refusal(good | MISTAKES[mistake])
    assert is_said(message, documented()[mistake]), message


@pytest.mark.parametrize("mistake", SERVERS)
def test_a_server_says_what_the_document_says(mistake: str) -> None:
    # C-RUN-29
    serve: Callable[..., Any] = server.serve
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = {"listen": f"127.0.0.1:{taken.getsockname()[1]}", **SERVERS[mistake]}
        with pytest.raises(StartRefused) as refused:
            serve(lambda *_: [], **settings)
    assert is_said(f"{refused.value}.", documented()[mistake])


def test_an_old_postgresql_is_refused(
    good: dict[str, str | None], postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-29
    with postgres.database() as url:
        for version, mistake in (((13, 23), "PostgreSQL is too old"), ((14, 0), "the schema is old")):
            monkeypatch.setattr(PGDialect, "_get_server_version_info", lambda *_, version=version: version)
            message = refusal(good | {"sqlalchemy.url": url})
            assert is_said(message, documented()[mistake]), message


def test_postgresql_says_what_the_document_says(good: dict[str, str | None], postgres: PostgresServer) -> None:
    # C-RUN-29
    rules = postgres.base / "data" / "pg_hba.conf"
    before, reload = rules.read_text(), "SELECT pg_reload_conf()"
    with postgres.database() as url, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE ROLE modhub LOGIN PASSWORD 'another'")
        missing = f"postgresql+psycopg://modhub@/modhub?{url.partition('?')[2]}"
        try:
            message = refusal(good | {"sqlalchemy.url": missing})
            assert is_said(message, documented()["there is no such database"]), message
            rules.write_text("local all modhub scram-sha-256\n" + before)
            connection.execute(reload)
            message = refusal(good | {"sqlalchemy.url": missing.replace("modhub@", "modhub:wrong@")})
            assert is_said(message, documented()["the password is wrong"]), message
        finally:
            rules.write_text(before)
            connection.execute(reload)
            connection.execute("DROP ROLE modhub")
