"""The shipped ``deploy/nginx.conf`` in a real nginx, with TLS, in front of two real ``pserve`` processes."""

import http.client
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from modhub.testing.caller import CallerResponse
from modhub.testing.service import Installation, free_port

ROOT = Path(__file__).parents[2]
HOST = "mods.example.org"
# Debian 12's own, as far as it differs from nginx's defaults: the site has to make up for it.
DEBIAN = """
{user}
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 768; }}
http {{
    sendfile on;
    tcp_nopush on;
    default_type application/octet-stream;
    ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
    ssl_prefer_server_ciphers on;
    gzip on;
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    assert found, f"{name} is not installed; `make test-deploy` says what to do"
    return found


class Proxy:
    """nginx with the shipped site; its ports and paths are those of this test alone."""

    def __init__(self, folder: Path, upstreams: list[int]) -> None:
        self.folder = folder
        folder.mkdir()
        self.port, self.plain = free_port(), free_port()
        self.certificate = folder / "site.crt"
        self.key = folder / "site.key"
        self._make_certificate()
        site = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
        line = next(line for line in site.splitlines() if line.startswith("    server 127.0.0.1:6543"))
        lines = "\n".join(line.replace("6543", str(port)) for port in upstreams)
        wanted = {
            line: lines,
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "listen [::]:443 ": f"listen [::1]:{self.port} ",
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen [::]:80;": f"listen [::1]:{self.plain};",
            "/etc/ssl/mods.example.org.crt": str(self.certificate),
            "/etc/ssl/mods.example.org.key": str(self.key),
            "/var/log/nginx/modhub.log": str(folder / "modhub.log"),
        }
        for shipped, ours in wanted.items():
            assert shipped in site, shipped
            site = site.replace(shipped, ours)
        if not Path("/proc/net/if_inet6").exists():
            site = "\n".join(line for line in site.splitlines() if "[::1]" not in line)
        (folder / "site.conf").write_text(site, "utf-8")
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(DEBIAN.format(user=user, folder=folder), "utf-8")
        self.process: subprocess.Popen[bytes] | None = None

    def _make_certificate(self) -> None:
        command = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}"]
        names = f"subjectAltName=DNS:{HOST},IP:127.0.0.1"
        files = ["-addext", names, "-keyout", str(self.key), "-out", str(self.certificate)]
        subprocess.run([program("openssl"), *command, *files], check=True, capture_output=True, timeout=100)

    def command(self, *words: str) -> list[str]:
        return [program("nginx"), "-c", str(self.folder / "nginx.conf"), "-e", str(self.folder / "error.log"), *words]

    def start(self) -> None:
        self.process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                self.ask("GET", "/healthz")
            except OSError:
                assert self.process.poll() is None, self.errors()
                assert time.monotonic() < deadline, self.errors()
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)

    def errors(self) -> str:
        path = self.folder / "error.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> CallerResponse:
        """One call over TLS, the certificate checked."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=200, context=self.context())
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return CallerResponse(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def curl(self, *words: str) -> "subprocess.CompletedProcess[bytes]":
        """curl of the machine, to this site by its name."""
        where = ["--cacert", str(self.certificate), "--resolve", f"{HOST}:{self.port}:127.0.0.1"]
        command = [program("curl"), "--silent", "--show-error", *where, *words]
        return subprocess.run(command, capture_output=True, timeout=200, check=False)

    def url(self, path: str) -> str:
        return f"https://{HOST}:{self.port}{path}"


SERVER = {
    "trusted_proxy": "127.0.0.1",
    "trusted_proxy_count": 1,
    "trusted_proxy_headers": "x-forwarded-for x-forwarded-proto x-forwarded-host",
}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Two processes, as behind ``deploy/nginx.conf``."""
    folder = tmp_path_factory.mktemp("deployed")
    settings = {"modhub.base_url": f"https://{HOST}", "modhub_auth.register_limit": "1000"}
    made = Installation(
        folder,
        f"sqlite:///{folder}/modhub.sqlite",
        "modhub_auth modhub_builds modhub_wiki",
        settings=settings,
        server=SERVER,
    )
    migrated = made.admin("migrate")
    assert migrated.returncode == 0, migrated
    for process in [made.launch() for _ in range(2)]:
        process.wait()
    yield made
    made.stop()
    assert "Traceback" not in made.log(), made.log()[-8000:]
    assert "trusted_proxy" not in made.log()


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[list[int]], Proxy]]:
    """``nginx(ports)``: the site in front of processes at these ports, running."""
    made: list[Proxy] = []

    def start(upstreams: list[int]) -> Proxy:
        made.append(Proxy(tmp_path_factory.mktemp("proxy") / "nginx", upstreams))
        made[-1].start()
        return made[-1]

    yield start
    for one in made:
        one.stop()


@pytest.fixture(scope="module")
def proxy(service: Installation, nginx: Callable[[list[int]], Proxy]) -> Proxy:
    """The site in front of the service's processes."""
    return nginx([process.port for process in service.processes if process.popen.poll() is None])
