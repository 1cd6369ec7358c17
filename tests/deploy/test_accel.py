"""`modhub.accel_redirect`: nginx sends the files, with the location of the shipped site."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from modhub_testing.service import Installation, free_port

SITE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NGINX = """
{user}
daemon off; worker_processes 2; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log; sendfile on; default_type application/octet-stream;
  client_body_temp_path {folder}/n1; proxy_temp_path {folder}/n2; fastcgi_temp_path {folder}/n3;
  uwsgi_temp_path {folder}/n4; scgi_temp_path {folder}/n5;
  upstream modhub {{ server 127.0.0.1:{upstream}; keepalive 8; }}
  server {{
    listen 127.0.0.1:{port};
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host; client_max_body_size 0;
    location / {{ proxy_pass http://modhub; }}
    {locations}
  }}
}}
"""
CHANGING = {"date", "server", "connection", "x-request-id", "keep-alive"}
OWNER = {"Authorization": "Bearer account-7"}


def ask(
    port: int, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, list[tuple[str, str]], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        fields = sorted((n.lower(), v) for n, v in response.getheaders() if n.lower() not in CHANGING)
        return response.status, fields, response.read()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("sent by nginx")
    url, settings = f"sqlite:///{folder}/modhub.sqlite", {"modhub.accel_redirect": "/_files/"}
    made = Installation(folder, url, "modhub_testing.accounts", settings=settings)
    assert made.admin("migrate").returncode == 0
    made.launch().wait()
    yield made
    made.stop()
    assert "Traceback" not in made.log(), made.log()[-4000:]


@contextmanager
def started(service: Installation, folder: Path, user: str) -> Iterator[int]:
    """nginx with the shipped location, its workers run by ``user`` if the test is root's."""
    port = free_port()
    locations = r"    location /_files/ \{.*?\n    \}\n    location @modhub_again \{.*?\n    \}\n"
    (shown,) = re.findall(locations, SITE.read_text("utf-8"), re.DOTALL)
    assert "/var/lib/modhub/files/" in shown
    text = NGINX.format(
        user=f"user {user};" if os.geteuid() == 0 else "",
        folder=folder,
        port=port,
        upstream=service.processes[0].port,
        locations=shown.replace("/var/lib/modhub/files/", f'"{service.files}/"'),
    )
    (folder / "nginx.conf").write_text(text)
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
    assert program, "nginx is not installed; `make test-deploy` says what to do"
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")])
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                ask(port, "GET", "/healthz")
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def nginx(service: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with started(service, tmp_path_factory.mktemp("accel"), "root") as port:
        yield port


@pytest.fixture
def mod(service: Installation) -> tuple[int, bytes]:
    """A published mod, and the 3 MB of its code."""
    port, content = service.processes[0].port, os.urandom(3_000_000)
    made = json.loads(ask(port, "POST", "/api/modhub", b'{"title": "Large"}', **OWNER)[2])["id"]
    assert ask(port, "POST", f"/api/modhub/{made}/code?version=1&name=H%C3%B6he.zip", content, **OWNER)[0] == 201
    assert ask(port, "POST", f"/api/modhub/{made}/publish", b"", **OWNER)[0] == 200
    return made, content


def direct(service: Installation, path: str, method: str = "GET", **headers: str) -> Any:
    """What the service answers itself: a condition that never holds keeps it from redirecting."""
    return ask(service.processes[0].port, method, path, **{"If-None-Match": '"never"', **headers})


def test_a_whole_file_has_the_same_headers_from_nginx(service: Installation, nginx: int, mod: Any) -> None:
    # C-FILE-1
    path, content = f"/api/modhub/{mod[0]}/download", mod[1]
    status, fields, body = ask(service.processes[0].port, "GET", path)
    assert (status, body, dict(fields)["content-length"]) == (200, b"", "0")
    assert re.fullmatch("/_files/[0-9a-f]{2}/[0-9a-f]{30}", dict(fields)["x-accel-redirect"])
    assert direct(service, path)[2] == content
    assert ask(nginx, "GET", path) == direct(service, path)
    digest = hashlib.sha256(content).hexdigest()
    assert dict(ask(nginx, "GET", path)[1])["etag"] == f'"{digest}"'


def test_head_and_what_is_not_there(service: Installation, nginx: int, mod: Any) -> None:
    path = f"/api/modhub/{mod[0]}/download"
    assert ask(nginx, "HEAD", path) == direct(service, path, "HEAD")
    for absent in ("/api/modhub/999/download", "/_files/00/" + "0" * 30, "/_files/"):
        status, _, body = ask(nginx, "GET", absent)
        assert (status, body) == (404, ask(service.processes[0].port, "GET", absent)[2] if "api" in absent else body)


def test_a_file_that_is_replaced_meanwhile_is_the_new_one(service: Installation, nginx: int, mod: Any) -> None:
    # C-FILE-8
    path, port = f"/api/modhub/{mod[0]}/download", service.processes[0].port
    redirect = dict(ask(port, "GET", path)[1])["x-accel-redirect"].removeprefix("/_files/")
    stored = service.files / redirect
    assert stat.S_IMODE(stored.stat().st_mode) == 0o640
    assert stat.S_IMODE(stored.parent.stat().st_mode) == 0o750
    assert ask(port, "POST", f"/api/modhub/{mod[0]}/code?version=2", b"the second", **OWNER)[0] == 201
    assert ask(nginx, "GET", path)[2] == b"the second"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's nginx can have a user whom modes keep out")
def test_a_file_that_nginx_cannot_read_has_no_tag(service: Installation, tmp_path: Path, mod: Any) -> None:
    with started(service, tmp_path, "nobody nogroup") as port:
        status, fields, _ = ask(port, "GET", f"/api/modhub/{mod[0]}/download")
    assert status == 403
    assert not {"etag", "repr-digest", "last-modified"} & {name for name, _ in fields}
    assert ("x-content-type-options", "nosniff") in fields


def test_a_lost_file_is_the_services_503(service: Installation, nginx: int, mod: Any) -> None:
    path = f"/api/modhub/{mod[0]}/download"
    redirect = dict(ask(service.processes[0].port, "GET", path)[1])["x-accel-redirect"].removeprefix("/_files/")
    (service.files / redirect).unlink()
    assert ask(nginx, "GET", path)[0] == 503
