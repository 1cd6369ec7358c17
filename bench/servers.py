"""The processes of a run, on loopback: modhub, a bare Pyramid view, nginx."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyramid.paster import get_appsettings

import modhub as application
from bench.measuring import SERVERS, cpu_seconds, pinned
from bench.seed import seed
from modhub.admin import migrate
from modhub.base.service_registry import find_service
from modhub.db import Databases
from modhub.plugins.declarations import Declarations
from modhub_testing.service import free_port, script

ROOT: Final = Path(__file__).parents[1]
SHIPPED: Final = (ROOT / "production.ini").read_text("utf-8")
FEATURES: Final = " ".join(SHIPPED.partition("pyramid.includes =\n")[2].partition("\n\n")[0].split())
NOTHING_KEPT: Final = f"{FEATURES} modhub_testing.nothing_kept"
LOCATION: Final = "/_files/"
KEPT_MEMORY: Final = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
"""As deploy/modhub@.service sets them."""
WORKERS_START_SECONDS: Final = 10
IDLE_SECONDS: Final = 5
IDLE_SHARE: Final = 0.05
"""Of a core; what an idle process takes at most."""
INI: Final = """
[app:main]
use = egg:modhub
pyramid.includes = {includes}
sqlalchemy.url = {url}
modhub.secret = bench-secret-bench-secret-bench-secret-1
modhub.storage = file://{folder}/files
{settings}
[server:main]
use = egg:modhub#server
listen = 127.0.0.1:%(port)s
threads = {threads}
"""
NGINX: Final = """
{user}daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/nginx.err;
events {{ worker_connections 512; }}
http {{ access_log off; sendfile on; tcp_nopush on; default_type application/octet-stream;
  client_body_temp_path {folder}/n1; proxy_temp_path {folder}/n2; fastcgi_temp_path {folder}/n3;
  uwsgi_temp_path {folder}/n4; scgi_temp_path {folder}/n5;
  upstream modhub {{ server 127.0.0.1:{upstream}; keepalive 32; }}
  server {{ listen 127.0.0.1:{port}; root {folder}/www; client_max_body_size 0;
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
    proxy_request_buffering off; proxy_buffering off; proxy_buffer_size 16k; proxy_buffers 8 16k;
    location /api/ {{ proxy_pass http://modhub; }}
    {locations}
  }} }}
"""


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process that listens on ``port``; end it afterwards."""
    environ = {**os.environ, **dict.fromkeys(KEPT_MEMORY, "8388608"), "PYTHONWARNINGS": "ignore"}
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environ) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError(f"{command[0]} did not start: {log.read_text()[-800:]}") from None
                    time.sleep(0.02)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


def write_ini(
    folder: Path,
    name: str,
    url: str,
    *,
    includes: str = FEATURES,
    threads: int = 4,
    **settings: str,
) -> Path:
    """An ini with the logging section of the shipped ones; ``a__b`` is the setting ``a.b``."""
    extra = "\n".join(f"{key.replace('__', '.')} = {value}" for key, value in settings.items())
    text = INI.format(folder=folder, url=url, includes=includes, threads=threads, settings=extra)
    ini = folder / f"{name}.ini"
    ini.write_text(text + SHIPPED[SHIPPED.index("[loggers]") :])
    return ini


def prepare(ini: Path) -> Any:
    """Make the schema, and return the registry of an application of this ini."""
    settings = get_appsettings(str(ini), name="main", options={"port": "1"})
    registry: Any = application.configure(settings).registry
    migrate.upgrade(find_service(registry, Databases), find_service(registry, Declarations).migrations)
    return registry


def prepare_and_seed(folder: Path, url: str, mods: int = 0, includes: str = FEATURES) -> None:
    """Make the schema at ``url``, and ``mods`` published mods."""
    databases = find_service(prepare(write_ini(folder, "seed", url, includes=includes)), Databases)
    if mods:
        seed(databases, mods)
    databases.dispose()


@contextmanager
def pserve(folder: Path, ini: Path, core: int | None = SERVERS) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """(a process of this ini, its port); on one core, or on any."""
    port = free_port()
    command = [str(script("pserve")), str(ini), f"port={port}"]
    command = command if core is None else pinned(command, core)
    with running(command, port, folder / f"{ini.stem}-{port}.log") as process:
        yield process, port


def let_workers_finish(folder: Path, database: str, url: str) -> None:
    """Serve a fresh catalogue until the workers have read it: else they would share a core with what is measured."""
    with pserve(folder, write_ini(folder, f"workers-{database}", url), core=None) as (process, _):
        time.sleep(WORKERS_START_SECONDS)
        idle_since, used = time.monotonic(), cpu_seconds(process.pid)
        while time.monotonic() - idle_since < IDLE_SECONDS:
            time.sleep(0.5)
            used, before = cpu_seconds(process.pid), used
            if used - before > IDLE_SHARE * 0.5:
                idle_since = time.monotonic()


@contextmanager
def constant(folder: Path, body: bytes, server: str) -> Iterator[tuple["subprocess.Popen[bytes]", int]]:
    """(a bare Pyramid view that returns ``body``, its port), on modhub's server or stock waitress."""
    file, port = folder / f"{server}-{len(body)}", free_port()
    file.write_bytes(body)
    command = [sys.executable, "-m", "bench.constant", str(file), str(port), server]
    with running(pinned(command, SERVERS), port, folder / f"{file.name}.log") as process:
        yield process, port


@contextmanager
def nginx(folder: Path, upstream: int) -> Iterator[int]:
    """The port of an nginx with the folder ``www``, in front of the process at ``upstream``."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    assert program is not None, "make bench installs nginx"
    port = free_port()
    config = NGINX.format(
        user="user root; " if os.geteuid() == 0 else "",
        folder=folder,
        port=port,
        upstream=upstream,
        locations=_shipped_locations(folder),
    )
    (folder / "nginx.conf").write_text(config)
    with running([program, "-c", str(folder / "nginx.conf")], port, folder / "nginx.log"):
        yield port


def _shipped_locations(folder: Path) -> str:
    """The locations of deploy/nginx.conf for files that nginx sends itself."""
    site = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    locations = re.search(
        rf"    location {LOCATION} .*?\n    \}}\n    location @modhub_again .*?\n    \}}\n", site, re.DOTALL
    )
    assert locations is not None
    return locations[0].replace("/var/lib/modhub/files/", f"{folder}/files/")
