import resource
import signal
import socket
import subprocess
import sys
from time import monotonic, sleep

import pytest

from modhub import server
from modhub.server.loop import Service
from modhub.server.settings import Settings, raise_file_limit
from modhub.server.testing import Client, running

SIZE = 24_000_000

APP = """
import time

def make(global_conf, path):
    def app(environ, start_response):
        start = time.monotonic()
        headers = [("Content-Type", "text/plain")]
        if environ["PATH_INFO"] == "/file":
            start_response("200 OK", [*headers, ("Content-Length", "24000000")])
            return environ["wsgi.file_wrapper"](open(path, "rb"))
        if environ["PATH_INFO"] == "/slow":
            time.sleep(float(environ["QUERY_STRING"]))
        body = b"x" * len(environ["wsgi.input"].read()) or b"done"
        start_response("200 OK", [*headers, ("Content-Length", str(len(body)))])
        return [body]
    return app
"""

INI = """
[app:main]
paste.app_factory = served:make
path = {path}
[server:main]
use = egg:modhub#server
listen = 127.0.0.1:{port}
threads = 2
drain_seconds = {drain}
"""


class Served:
    """``pserve`` with the application above, as a process of its own."""

    def __init__(self, folder, drain):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.addresses = [free.getsockname()]
        (folder / "served.py").write_text(APP)
        (folder / "data").write_bytes(b"0123456789abcdef" * (SIZE // 16))
        ini = folder / "served.ini"
        ini.write_text(INI.format(path=folder / "data", port=self.addresses[0][1], drain=drain))
        command = [sys.executable, "-W", "ignore", "-m", "pyramid.scripts.pserve", str(ini)]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        deadline = monotonic() + 30
        while True:
            try:
                socket.create_connection(self.addresses[0], 1).close()
                return
            except OSError:
                assert self.process.poll() is None, self.process.stdout.read()
                assert monotonic() < deadline
                sleep(0.05)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(drain):
        started.append(Served(tmp_path, drain))
        return started[-1]

    yield start
    for served in started:
        served.end()


def get(path):
    return f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_everything_under_way_end_and_exits_with_0(serve, number):
    served = serve(drain=20)
    with Client(served) as slow, Client(served, buffer=65536) as download, Client(served) as idle, Client(served) as up:
        assert idle.ask(get("/")).body == b"done"
        slow.send(get("/slow?1.5"))
        download.send(get("/file"))
        up.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        sleep(0.3)
        served.process.send_signal(number)
        sleep(0.05)
        last = idle.ask(get("/"))
        assert (last.body, last.fields["connection"]) == (b"done", "close")
        assert idle.ended()
        sleep(0.5)
        with pytest.raises(ConnectionRefusedError):
            Client(served)
        answer = up.ask(b"cd")
        assert (answer.body, answer.fields["connection"]) == (b"xxxx", "close")
        answer = slow.answer()
        assert (answer.body, answer.fields["connection"]) == (b"done", "close")
        assert download.answer().body == b"0123456789abcdef" * (SIZE // 16)
        assert served.process.wait(10) == 0


def test_what_does_not_end_is_cut_after_drain_seconds(serve):
    served = serve(drain=1)
    with Client(served, buffer=4096) as download, Client(served) as slow:
        download.send(get("/file"))
        slow.send(get("/slow?60"))
        sleep(0.2)
        began = monotonic()
        served.process.terminate()
        assert served.process.wait(15) == 0
        assert monotonic() - began > 0.9


def test_a_second_signal_ends_the_drain(serve):
    served = serve(drain=60)
    with Client(served) as slow:
        slow.send(get("/slow?60"))
        sleep(0.2)
        served.process.terminate()
        sleep(0.3)
        served.process.terminate()
        assert served.process.wait(15) == 0


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]


def test_idle_and_half_open_connections_do_not_hold_a_drain_up():
    with running(hello, drain_seconds=60) as service:
        with Client(service) as idle, Client(service) as half, Client(service) as silent:
            idle.ask(get("/"))
            half.send(b"GET / HTTP/1.1\r\n")
            began = monotonic()
            service.stop()
            assert idle.ended()
            assert half.ended()
            assert silent.ended()
    assert monotonic() - began < 20


def test_several_listeners_and_stop_from_any_thread():
    with running(hello, listen="127.0.0.1:0 127.0.0.1:0") as service:
        for address in service.addresses:
            with socket.create_connection(address, 10) as client:
                client.sendall(get("/"))
                assert client.recv(12) == b"HTTP/1.1 200"
    service.stop()


def test_reuse_port_lets_a_second_server_listen_at_the_same_address():
    with running(hello, reuse_port="true") as first:
        listen = f"127.0.0.1:{first.addresses[0][1]}"
        with running(hello, reuse_port="true", listen=listen) as second:
            assert second.addresses == first.addresses
        with pytest.raises(OSError, match="in use"):
            Service(hello, listen=listen)
        with Client(first) as client:
            assert client.ask(get("/")).body == b"ok"


def test_a_bound_socket_can_be_handed_over():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with running(hello, sockets=[bound], listen=None) as service, Client(service) as client:
            assert client.ask(get("/")).body == b"ok"


def test_the_limit_of_open_files_is_raised_and_bounds_the_connections(monkeypatch, caplog):
    limits = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.update(now=pair))
    assert raise_file_limit(100) == 100
    assert limits["now"] == (4096, 4096)
    assert raise_file_limit(2000) == (4096 - 128) // 3
    assert "connection_limit" in caplog.text
    limits["now"] = (1024, resource.RLIM_INFINITY)
    assert raise_file_limit(2000) == 2000
    assert limits["now"] == (65536, resource.RLIM_INFINITY)


@pytest.mark.parametrize(
    "wrong", [{"unknown": "1"}, {"threads": "0"}, {"cleanup_interval": "0"}, {"drain_seconds": "x"}]
)
def test_a_setting_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"unknown|zero|could not convert"):
        Settings(**wrong)


def test_the_defaults():
    settings = Settings(listen="127.0.0.1:0")
    assert settings.ident is None
    assert settings.clear_untrusted_proxy_headers is True
    assert settings.recv_bytes == 262144
    assert (settings.connection_limit, settings.channel_timeout, settings.header_seconds) == (2000, 60, 15)
    assert (settings.discard_bytes, settings.discard_seconds) == (128 * 1024 * 1024, 30)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "cannot listen where [server:main] says: Address already in use."),
        ({"nonsense": "1"}, "[server:main] is wrong: Unknown adjustment 'nonsense'."),
        ({"threads": "x"}, "[server:main] is wrong: invalid literal"),
        ({"threads": "0"}, "[server:main] is wrong: threads, write_threads"),
    ],
)
def test_what_the_operator_must_mend_ends_the_start_with_one_line(settings, words):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(SystemExit) as end:
            server.serve(hello, listen=f"127.0.0.1:{taken.getsockname()[1]}", **settings)
    assert words in end.value.code
    assert "\n" not in end.value.code
