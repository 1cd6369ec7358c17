"""The clients behind a proxy: the environment names it, as for curl and pip. They have one transport."""

import re
import ssl
from base64 import b64encode
from contextlib import ExitStack, closing

import pytest

from modhub_client.get import main as getting
from modhub_client.get.outcome import ExitCode
from modhub_client.publish import command
from modhub_client.verify.replies import Unreachable
from modhub_client.verify.service import VerifiedService
from modhub_testing.commands import issue_certificate
from modhub_testing.lines import Relay

HOST = "mods.example.test"
ADDRESS = re.compile(rb"^([A-Z]+) http://mods\.example\.test(?::\d+)?/")


class ProxyOf(Relay):
    """An HTTP proxy with one server behind it, whatever it is asked for. ``asked`` are the heads of what it read."""

    def __init__(self, port):
        self.asked = []
        super().__init__(port)

    def request(self, data, client):
        if data.startswith(b"CONNECT "):
            self.asked.append(data)
            client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            return b""
        if b" HTTP/1.1\r\n" in data:
            self.asked.append(data)
        return ADDRESS.sub(rb"\1 /", data)


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("MODHUB_API_KEY", "the-key")


@pytest.fixture
def proxy(fake):
    with closing(ProxyOf(fake.port)) as proxy:
        yield proxy


def call(tool, url):
    if tool == "get":
        return getting.main(["--url", url, "search"])
    if tool == "verify":
        return visit(url)
    return command.main(["--url", url, "key"])


def visit(url):
    """As modhub-verify calls a service, with the exit codes of modhub-get."""
    try:
        with VerifiedService(url) as service:
            service.get("/api/modhub").expect(200)
    except Unreachable:
        return int(ExitCode.UNREACHABLE)
    return 0


def is_reached(code):
    assert code in {0, int(ExitCode.UNREACHABLE)}
    return code == 0


@pytest.mark.parametrize(("tool", "name"), [("get", "http_proxy"), ("publish", "HTTP_PROXY"), ("verify", "all_proxy")])
def test_a_proxy_is_used(fake, proxy, tool, name, monkeypatch):
    monkeypatch.setenv(name, proxy.endpoint)
    assert is_reached(call(tool, f"http://{HOST}:81/"))
    (head,) = proxy.asked
    assert f"Host: {HOST}:81\r\n".encode() in head
    assert b"Proxy-Authorization" not in head


@pytest.fixture
def tunnel(fake, tmp_path, monkeypatch):
    """`tunnel(host)`: a proxy with a service behind it whose certificate is that of ``host``."""
    with ExitStack() as opened:

        def begin(host):
            issued = issue_certificate(tmp_path, host)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(issued.certificate, issued.key)
            monkeypatch.setenv("SSL_CERT_FILE", str(issued.authority))
            secured = opened.enter_context(closing(Relay(fake.port, context)))
            return opened.enter_context(closing(ProxyOf(int(secured.endpoint.rpartition(":")[2]))))

        yield begin


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_gets_its_credentials_and_the_service_does_not(fake, proxy, tunnel, scheme, monkeypatch):
    used = proxy if scheme == "http" else tunnel(HOST)
    monkeypatch.setenv(f"{scheme}_proxy", used.endpoint.replace("//", "//me:p%40ss@"))
    assert is_reached(call("get", f"{scheme}://{HOST}"))
    assert b"Proxy-Authorization: Basic " + b64encode(b"me:p@ss") in used.asked[0]
    if scheme == "https":
        assert used.asked[0].startswith(f"CONNECT {HOST}:443 ".encode())
        assert all("Proxy-Authorization" not in headers for _, headers in fake.asked)


def test_no_certificate_of_a_proxy_is_trusted(fake, tunnel, monkeypatch):
    used = tunnel("elsewhere.example.test")
    monkeypatch.setenv("https_proxy", used.endpoint)
    assert not is_reached(call("get", f"https://{HOST}"))
    assert used.asked
    assert fake.asked == []


@pytest.mark.parametrize("excepted", [".example.test", "other, example.test"])
def test_exceptions_are_called_directly(proxy, excepted, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.endpoint)
    monkeypatch.setenv("no_proxy", excepted)
    # No name server knows the host.
    assert not is_reached(call("get", f"http://{HOST}"))
    assert proxy.asked == []


def test_this_machine_is_called_directly(fake, proxy, monkeypatch):
    monkeypatch.setenv("http_proxy", proxy.endpoint)
    assert is_reached(call("get", f"http://localhost:{fake.port}"))
    assert proxy.asked == []
    assert len(fake.asked) == 1


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:9", "http://a:x"])
def test_a_proxy_of_another_kind_is_said(address, monkeypatch, capsys):
    monkeypatch.setenv("http_proxy", address)
    assert call("get", f"http://{HOST}") == ExitCode.WRONG_CALL
    assert "proxy" in capsys.readouterr().err


def test_who_cannot_be_reached_is_told_with_the_proxy(fake, monkeypatch, capsys):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert call("get", f"http://{HOST}") == ExitCode.UNREACHABLE
    assert "through the proxy 127.0.0.1:9" in capsys.readouterr().err
