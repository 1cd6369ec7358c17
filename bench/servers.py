"""The processes of a run, on loopback: modhub, a bare Pyramid view on the same server, nginx."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INI = """
[app:main]
use = egg:modhub
pyramid.includes = {includes}
sqlalchemy.url = {url}
modhub.secret = bench-secret-bench-secret-bench-secret-1
modhub.storage = file://{folder}/files
ApiPrivateKeys = {key}
[server:main]
use = egg:modhub#server
listen = 127.0.0.1:{port}
threads = 4
"""
NGINX = """
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/nginx.err;
events {{ worker_connections 512; }}
http {{ access_log off; sendfile on; default_type application/octet-stream;
  client_body_temp_path {folder}/n1; proxy_temp_path {folder}/n2; fastcgi_temp_path {folder}/n3;
  uwsgi_temp_path {folder}/n4; scgi_temp_path {folder}/n5;
  server {{ listen 127.0.0.1:{port}; root {root}; }} }}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that listens on ``port``; end it afterwards."""
    environ = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, env=environ) as process:
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError(f"{command[0]} did not start: {log.read_text()[-800:]}") from None
                    time.sleep(0.05)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


def write_ini(folder: Path, port: int, url: str, includes: str, key: str = "") -> Path:
    ini = folder / "bench.ini"
    ini.write_text(INI.format(folder=folder, port=port, url=url, includes=includes, key=key))
    return ini


@contextmanager
def modhub(folder: Path, ini: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    program = str(Path(sys.executable).parent / "pserve")
    with running([program, str(ini)], port, folder / "modhub.log") as process:
        yield process


@contextmanager
def constant(folder: Path, body: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A bare Pyramid view that returns the bytes of ``body``, on the same server."""
    command = [sys.executable, "-m", "bench.constant", str(body), str(port)]
    with running(command, port, folder / "constant.log") as process:
        yield process


@contextmanager
def nginx(folder: Path, root: Path, port: int) -> Iterator[subprocess.Popen[bytes] | None]:
    """nginx serving a folder; None if it is not installed."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        yield None
        return
    config = folder / "nginx.conf"
    user = "user root; " if os.geteuid() == 0 else ""
    config.write_text(user + NGINX.format(folder=folder, port=port, root=root))
    with running([program, "-c", str(config)], port, folder / "nginx.log") as process:
        yield process


def peak_megabytes(process: subprocess.Popen[bytes]) -> float:
    """The peak memory of the process."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0
