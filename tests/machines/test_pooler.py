"""A real pgbouncer before PostgreSQL (C-RUN-15)."""

import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from modhub_testing.postgres import PORT, server_account, server_environment
from modhub_testing.service import Installation

INI = """\
[databases]
* = host={server} port={port} user=postgres
[pgbouncer]
unix_socket_dir = {folder}
listen_addr =
listen_port = {port}
auth_type = any
pool_mode = {mode}
{more}
"""
DROPPED = "ignore_startup_parameters = options,extra_float_digits"


@contextmanager
def pooled(server, direct, mode, more):
    """The address through pgbouncer of a database of the server."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    assert program, "pgbouncer is not installed"
    # The path of a socket is short.
    folder, account = Path(tempfile.mkdtemp(prefix="pooler-")), server_account()
    if account:
        os.chown(folder, account["user"], account["group"])
    ini = folder / "pgbouncer.ini"
    ini.write_text(INI.format(server=server, port=PORT, folder=folder, mode=mode, more=more), "utf-8")
    process = subprocess.Popen([program, "-q", str(ini)], cwd=folder, env=server_environment(), **account)
    url, deadline = make_url(direct).update_query_dict({"host": str(folder)}), time.monotonic() + 60
    try:
        while True:
            try:
                psycopg.connect(host=str(folder), port=PORT, user="postgres", dbname=str(url.database)).close()
                break
            except psycopg.OperationalError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield url.render_as_string(hide_password=False)
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "case",
    [
        ("transaction", "", "unsupported startup parameter: options"),
        ("transaction", DROPPED, "is behind a pooler"),
        ("session", DROPPED, "is behind a pooler"),
    ],
    ids=["refuses options", "drops options", "by session"],
)
def test_a_pooler_is_refused(postgres, template_databases, tmp_path, case):
    # C-RUN-15, T-F13
    direct = template_databases.new("postgresql", "", tmp_path / "unused")
    mode, more, sentence = case
    with pooled(postgres.base, direct, mode, more) as url:
        installation = Installation(tmp_path / "service", url)
        done = installation.run("pserve", str(installation.ini), "port=0")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stdout + done.stderr
        assert sentence in done.stderr
