"""A real nginx for tests: a site file in front of processes, with TLS, as on Debian 12."""

import http.client
import os
import ssl
import subprocess
import time
from pathlib import Path
from typing import Any

from modhub_testing.caller import CallerResponse
from modhub_testing.commands import find_program, issue_certificate
from modhub_testing.service import free_port

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
BEHIND_PROXY = {
    "trusted_proxy": "127.0.0.1",
    "trusted_proxy_count": 1,
    "trusted_proxy_headers": "x-forwarded-for x-forwarded-proto x-forwarded-host",
}
"""``[server:main]`` behind it, as in production.ini."""


class Proxy:
    """nginx with a site, such as the shipped one; its ports and paths are those of this test alone.

    ``files`` is what it may send by itself; as root it runs as ``user``.
    """

    def __init__(
        self, folder: Path, shipped: Path, upstreams: list[int], *, files: Path | None = None, user: str = "root"
    ) -> None:
        self.folder = folder
        folder.mkdir()
        self.port, self.plain = free_port(), free_port()
        self.certificate = issue_certificate(folder, HOST)
        site = shipped.read_text("utf-8")
        shipped_servers = [line for line in site.splitlines() if line.startswith("    server 127.0.0.1:")]
        lines = "\n".join(shipped_servers[0].replace("6543", str(port)) for port in upstreams)
        replacements = {
            "\n".join(shipped_servers): lines,
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "listen [::]:443 ": f"listen [::1]:{self.port} ",
            "listen 80;": f"listen 127.0.0.1:{self.plain};",
            "listen [::]:80;": f"listen [::1]:{self.plain};",
            "/etc/ssl/certs/mods.example.org.crt": str(self.certificate.certificate),
            "/etc/ssl/private/mods.example.org.key": str(self.certificate.key),
            "/var/log/nginx/modhub.log": str(folder / "modhub.log"),
            "/var/lib/modhub/files/": f'"{files or folder / "files"}/"',
        }
        for old, new in replacements.items():
            assert old in site, old
            site = site.replace(old, new)
        if not Path("/proc/net/if_inet6").exists():
            site = "\n".join(line for line in site.splitlines() if "[::1]" not in line)
        (folder / "site.conf").write_text(site, "utf-8")
        account = f"user {user};" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(DEBIAN.format(user=account, folder=folder), "utf-8")
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, *words: str) -> list[str]:
        """nginx's command line for this site."""
        return [
            find_program("nginx"),
            "-c",
            str(self.folder / "nginx.conf"),
            "-e",
            str(self.folder / "error.log"),
            *words,
        ]

    def start(self) -> None:
        """Start it and wait until a process behind it responds."""
        self.process = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL)  # noqa: S603
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
        """End the process and wait for it."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(60)

    def errors(self) -> str:
        """Its error log."""
        path = self.folder / "error.log"
        return path.read_text("utf-8", "replace") if path.exists() else ""

    def context(self) -> ssl.SSLContext:
        """For clients: trusts its certificate."""
        return ssl.create_default_context(cafile=str(self.certificate.authority))

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
        where = ["--cacert", str(self.certificate.authority), "--resolve", f"{HOST}:{self.port}:127.0.0.1"]
        command = [find_program("curl"), "--silent", "--show-error", *where, *words]
        return subprocess.run(command, capture_output=True, timeout=200, check=False)  # noqa: S603

    def url(self, path: str) -> str:
        """The address of a path, by the host's name."""
        return f"https://{HOST}:{self.port}{path}"
