"""A real pgbouncer before PostgreSQL (C-RUN-15, C-RUN-52; docs/operations.md, A pooler)."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from modhub.db import DatabaseLimits, Databases
from modhub_testing.caller import Caller
from modhub_testing.databases import TemplateDatabases
from modhub_testing.pooler import POOL_SIZE, POOLED, Pooler
from modhub_testing.postgres import PORT, PostgresServer, server_account
from modhub_testing.postgres_pair import PAIR_DATABASE, postgres_pair
from modhub_testing.service import Installation, free_port, script

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads modhub_profiles modhub_tags"
)
ROUNDS = 5_000 if os.environ.get("MODHUB_LONG_RACES") else 200
ROOT = Path(__file__).parents[2]
PGBOUNCER_INIS = ("/etc/pgbouncer/pgbouncer.ini", "/usr/share/doc/pgbouncer/examples/pgbouncer.ini")
"""As Debian installs it; only root may read the first."""
OF_THE_MACHINE = """
apt-get() {{ :; }}
systemctl() {{ runuser -u postgres -- pgbouncer -q -d {folder}/pgbouncer.ini; }}
modhub-admin() {{ {admin} -c {ini} "$@"; }}
"""
"""What the test does instead: pgbouncer is installed, and there is no systemd."""
CREATE_DATABASE = "createdb --owner=modhub --encoding=UTF8 --template=template0 modhub"
OPTIONS = "ignore_startup_parameters = options,extra_float_digits"


@pytest.fixture
def pooler(postgres: PostgresServer) -> Iterator[Pooler]:
    pooler = Pooler(postgres.base)
    yield pooler
    pooler.stop()


def set_role(installation: Installation, direct: str, pooler: Pooler) -> list[str]:
    """Do what the operator does with the statements of ``modhub-admin pooler``."""
    done = installation.admin("pooler")
    assert done.returncode == 0, done.stderr
    printed = done.stdout
    with closing(psycopg.connect(direct.replace("+psycopg", ""), autocommit=True)) as connection:
        for statement in printed.splitlines():
            connection.execute(statement.encode())
    pooler.reconnect()
    return printed.splitlines()


def refused(installation: Installation) -> "subprocess.CompletedProcess[str]":
    """Start a process that does not start."""
    done = installation.run("pserve", str(installation.ini), "port=0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_pooler_that_the_ini_does_not_name_is_refused(
    postgres: PostgresServer, template_databases: TemplateDatabases, tmp_path: Path, mode: str
) -> None:
    # C-RUN-52, T-F13
    direct = template_databases.new("postgresql", "", tmp_path / "unused")
    for more, sentence in (("", "unsupported startup parameter: options"), (OPTIONS, "is behind a pooler")):
        pooler = Pooler(postgres.base, mode, more)
        try:
            installation = Installation(tmp_path / f"{mode}{bool(more)}", pooler.url(direct))
            assert sentence in refused(installation).stderr
            assert sentence in installation.admin("check").stderr
        finally:
            pooler.stop()


def test_limits_that_the_role_does_not_have_are_refused(
    pooler: Pooler, template_databases: TemplateDatabases, tmp_path: Path
) -> None:
    # C-RUN-15, C-RUN-52
    direct = template_databases.new("postgresql", "", tmp_path / "unused")
    settings = {**POOLED, "modhub.statement_seconds": "7", "modhub.lock_seconds": "3"}
    installation = Installation(tmp_path / "service", pooler.url(direct), settings=settings)
    done = refused(installation)
    assert "lock_timeout, statement_timeout, idle_in_transaction_session_timeout" in done.stderr
    statements = set_role(installation, direct, pooler)
    assert [statement.partition(" SET ")[2] for statement in statements] == [
        "lock_timeout = '3s';",
        "statement_timeout = '7s';",
        "idle_in_transaction_session_timeout = '60s';",
        "timezone = 'UTC';",
        "jit = 'off';",
    ]
    installation.start()
    installation.stop()
    installation.configure("", {**settings, "modhub.statement_seconds": "8"}, {})
    assert "the pooler statement_timeout of the role differ" in refused(installation).stderr


def test_the_commands_of_the_document_lead_behind_a_pooler(postgres: PostgresServer, tmp_path: Path) -> None:
    """As they stand, with Debian's files, but for what is elsewhere here."""
    document = (ROOT / "docs" / "operations.md").read_text("utf-8")
    (commands,) = re.findall(r"^## A pooler\n(?:(?!## ).*\n)*?```sh\n((?:.+\n)+)```$", document, re.MULTILINE)
    folder, ini = Path(tempfile.mkdtemp(prefix="pooler-")), tmp_path / "modhub.ini"
    shutil.copy(next(path for path in PGBOUNCER_INIS if os.access(path, os.R_OK)), folder / "pgbouncer.ini")
    (folder / "userlist.txt").touch()
    ini.write_text((ROOT / "production.ini").read_text("utf-8"), "utf-8")
    port = str(free_port())
    elsewhere = {
        "host=127.0.0.1": f"host={postgres.base} port={PORT}",
        "/etc/modhub/modhub.ini": str(ini),
        "/etc/pgbouncer": str(folder),
        "/var/log/postgresql": str(folder),
        "/var/run/postgresql": str(postgres.base),
        "host=/run/postgresql": f"host={postgres.base}",
        "/var/lib/modhub": str(tmp_path),
        "6432": port,
    }
    for file in (folder / "pgbouncer.ini", ini):
        file.write_text(replace_all(elsewhere, file.read_text("utf-8")), "utf-8")
    account = server_account()
    if account:
        for path in (folder, *folder.iterdir()):
            os.chown(path, account["user"], account["group"])
    environ = {
        **os.environ,
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
        "PGHOST": str(postgres.base),
        "PGPORT": str(PORT),
        "PGUSER": "postgres",
        "MODHUB_SECRET": "s" * 64,
        "PYTHONWARNINGS": "ignore",
    }
    functions = OF_THE_MACHINE.format(folder=folder, admin=script("modhub-admin"), ini=ini)
    if not account:
        functions += 'runuser() { shift 3; "$@"; }\n'

    def run(lines: str) -> "subprocess.CompletedProcess[str]":
        words = ["bash", "-eo", "pipefail", "-c", functions + lines]
        return subprocess.run(words, cwd="/", env=environ, capture_output=True, text=True, timeout=120, check=False)

    try:
        done = run(f"psql --quiet --command 'CREATE ROLE modhub LOGIN'\n{CREATE_DATABASE}\nmodhub-admin migrate")
        assert done.returncode == 0, done.stderr
        done = run(replace_all(elsewhere, commands))
        assert done.returncode == 0, done.stdout + done.stderr
        *answers, check = done.stdout.splitlines()
        assert answers == [*6 * ["ALTER ROLE"], "RECONNECT"]
        assert "is valid" in check
        configured = ini.read_text("utf-8")
        assert f"@127.0.0.1:{port}/modhub\n" in configured
        assert "\nmodhub.database_pooler = transaction\n" in configured
    finally:
        run(f"[ ! -e {postgres.base}/pgbouncer.pid ] || kill $(cat {postgres.base}/pgbouncer.pid)")
        run("dropdb --if-exists --force modhub; dropuser --if-exists modhub")
        shutil.rmtree(folder)


def replace_all(replacements: Mapping[str, str], text: str) -> str:
    """Each key replaced by its value, in one pass."""
    return re.sub("|".join(map(re.escape, replacements)), lambda match: replacements[match[0]], text)


@pytest.fixture
def service(pooler: Pooler, template_databases: TemplateDatabases, tmp_path: Path) -> Iterator[Any]:
    """(a service of two processes with all features behind the pooler, its direct address)."""
    direct = template_databases.new("postgresql", FEATURES, tmp_path / "unused")
    installation = Installation(tmp_path / "service", pooler.url(direct), FEATURES, settings=POOLED)
    set_role(installation, direct, pooler)
    for process in [installation.launch(), installation.launch()]:
        process.wait()
    yield installation, direct
    installation.stop()


def test_the_main_job_behind_a_pooler(service: Any) -> None:
    installation, _ = service
    author = installation.register("ada")
    for number in range(20):
        mod = author.published(f"Mod {number}", f"content {number}".encode())
        # By both processes: more statements of a kind than psycopg runs unprepared.
        for process in installation.processes:
            reader = Caller([process.port])
            page = reader.need(200, "GET", f"/api/modhub?q=Mod+{number}&sort=new")
            assert f"Mod {number}" in [each["title"] for each in page["mods"]]
            assert reader.ask("GET", f"/api/modhub/{mod['id']}/download").body == f"content {number}".encode()
    assert installation.caller().need(200, "GET", "/api/modhub")["total"] == 20
    doctor = installation.admin("doctor").stdout
    assert "database: ok" in doctor
    assert installation.admin("verify").returncode == 0
    assert "Traceback" not in installation.log()


def test_a_read_after_a_write_sees_it_while_a_process_sleeps(service: Any) -> None:
    installation, _ = service
    first, second = installation.processes
    author = Caller([first.port], installation.register("ada").token)
    sleeper = installation.start()
    for number in range(ROUNDS):
        if number % 20 == 0:
            os.kill(sleeper.popen.pid, signal.SIGSTOP if number % 40 == 0 else signal.SIGCONT)
        mod = author.published(f"Round {number}")
        assert Caller([second.port]).ask("GET", f"/api/modhub/{mod['id']}").status == 200
        title = f"Changed {number}"
        author.need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": title})
        assert Caller([second.port]).ask("GET", f"/api/modhub/{mod['id']}").json["title"] == title
    os.kill(sleeper.popen.pid, signal.SIGCONT)
    counts = {Caller([each.port]).need(200, "GET", "/api/modhub")["total"] for each in installation.processes}
    assert counts == {ROUNDS}
    changes = [change["guid"] for change in feed(Caller([sleeper.port]))]
    assert len(changes) == len(set(changes)) == ROUNDS


def feed(caller: Caller) -> list[Any]:
    """All changes, page by page."""
    changes: list[Any] = []
    while True:
        since = changes[-1]["serial"] if changes else 0
        page = caller.need(200, "GET", f"/api/modhub/changes?since={since}&limit=100")["changes"]
        if not page:
            return changes
        changes += page


def test_each_write_sets_its_own_limits(pooler: Pooler, template_databases: TemplateDatabases, tmp_path: Path) -> None:
    """A best-effort write waits a millisecond for a lock, a statement of a command has no limit: unlike the role."""
    url = pooler.url(template_databases.new("postgresql", "", tmp_path / "unused"))
    databases = Databases(url, DatabaseLimits(lock_seconds=4, role_statement_seconds=60, pooler=True))
    shown = text("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
    try:
        for factory, limits in ((databases.write_session, ("4s", "0")), (databases.best_effort_session, ("1ms", "0"))):
            for _ in range(3):
                with factory.begin() as session:
                    assert tuple(session.execute(shown).one()) == limits
        with databases.readonly_session() as session:
            assert tuple(session.execute(shown).one()) == ("0", "0"), "the limits have left a transaction"
    finally:
        databases.dispose()


def test_no_session_keeps_state(service: Any, tmp_path: Path) -> None:
    """What a transaction leaves in a server connection, the next one of anybody would meet."""
    installation, direct = service
    ada = installation.register("ada")
    with ThreadPoolExecutor(2 * POOL_SIZE) as pool:
        mods = list(pool.map(ada.published, [f"Mod {number}" for number in range(POOL_SIZE)]))
        list(pool.map(lambda mod: ada.need(200, "GET", f"/api/modhub/{mod['id']}"), 4 * mods))
    for words in (["migrate"], ["sweep"], ["verify"], ["backup", str(tmp_path / "backup")]):
        done = installation.admin(*words)
        assert done.returncode == 0, done.stderr
    with closing(psycopg.connect(direct.replace("+psycopg", ""), autocommit=True)) as connection:
        locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert connection.execute(locks).fetchone() == (0,)
    changed = "SELECT name, setting FROM pg_settings WHERE source = 'session' AND name <> ALL(%s)"
    # The pooler itself sets these for each client.
    own = ["application_name", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings"]
    with ExitStack() as stack:
        workers = set()
        # Each holds a connection of the server in its transaction: together all that there are.
        for _ in range(POOL_SIZE):
            pooled = stack.enter_context(psycopg.connect(installation.url.replace("+psycopg", "")))
            workers.add(pooled.execute("SELECT pg_backend_pid()", prepare=False).fetchone())
            assert pooled.execute(changed, [own], prepare=False).fetchall() == []
            for catalog in ("pg_prepared_statements", "pg_cursors"):
                assert pooled.execute(f"SELECT name FROM {catalog} WHERE name <> ''", prepare=False).fetchall() == []
            assert pooled.execute("SELECT pg_listening_channels()", prepare=False).fetchall() == []
        assert len(workers) == POOL_SIZE


def test_a_connection_that_outlives_its_server_writes_nothing_on_the_next(tmp_path: Path) -> None:
    """A failover behind the pooler: ids, serials and the feed of lost commits (ADR 044; T-F13)."""
    with postgres_pair() as pair:
        pooler = Pooler(pair.primary.base)
        try:
            direct = f"postgresql+psycopg://postgres@/{PAIR_DATABASE}?host={pair.primary.base}&port=5432"
            installation = Installation(tmp_path / "service", pooler.url(direct), FEATURES, settings=POOLED)
            set_role(installation, direct, pooler)
            assert installation.admin("migrate").returncode == 0
            process = installation.start()
            ada = installation.register("ada")
            kept = ada.published("Kept")
            feed_before = ada.need(200, "GET", "/api/modhub/changes?since=0")["feed"]
            pair.wait_until_equal()
            pair.standby.stop()
            lost = ada.published("Lost")
            pair.fail_over()
            pooler.lead_to(pair.primary.base)
            # Written over a connection of before.
            new = ada.published("New")
            assert new["id"] > lost["id"]
            page = ada.need(200, "GET", "/api/modhub/changes?since=0")
            assert page["feed"] != feed_before
            assert {change["guid"] for change in page["changes"]} == {kept["guid"], new["guid"]}
            begun = "SELECT count(*) FROM core_audit_entry WHERE action = 'feed begun'"
            assert pair.primary.rows(begun) == [(1,)]
            assert process.popen.poll() is None
            assert "Traceback" not in installation.log(), installation.log()[-4000:]
        finally:
            installation.stop()
            pooler.stop()
