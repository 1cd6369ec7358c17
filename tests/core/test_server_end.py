import resource
import signal
import socket
import subprocess
import sys
from time import monotonic

import pytest

from modhub import server
from modhub.base.settings import StartRefused
from modhub.server.settings import Settings, raise_file_limit
from modhub_testing.running_server import RawClient, raw_request, running
from modhub_testing.service import free_port
from tests.races import until

pytestmark = pytest.mark.process

SIZE = 24_000_000

APP = """
import os, time
from modhub.server import channel, loop

loop.SETTLE_SECONDS = 100
loop.LINGER_SECONDS = channel.LINGER_SECONDS = 0.2

def make(global_conf, path):
    def app(environ, start_response):
        headers = [("Content-Type", "text/plain")]
        if environ["PATH_INFO"] == "/file":
            start_response("200 OK", [*headers, ("Content-Length", "24000000")])
            return environ["wsgi.file_wrapper"](open(path, "rb"))
        if environ["PATH_INFO"] == "/slow":
            open("began", "w").close()
            while not os.path.exists("go"):
                time.sleep(0.02)
            loop.SETTLE_SECONDS = 0
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


# A job in a shell's background ignores SIGINT, and what it starts does too.
PSERVE = """
import signal, sys
from pyramid.scripts.pserve import main
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
sys.exit(main())
"""


class Served:
    """``pserve`` with the application above, as a process of its own.

    ``/slow`` waits for `go`. Until it has ended, a drain leaves idle connections open: no test has to be quick.
    """

    def __init__(self, folder, drain):
        self.folder = folder
        self.addresses = [("127.0.0.1", free_port())]
        (folder / "served.py").write_text(APP)
        (folder / "data").write_bytes(b"0123456789abcdef" * (SIZE // 16))
        ini = folder / "served.ini"
        ini.write_text(INI.format(path=folder / "data", port=self.addresses[0][1], drain=drain))
        command = [sys.executable, "-W", "ignore", "-c", PSERVE, str(ini)]
        self.process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        until(self.listens)

    def listens(self):
        try:
            socket.create_connection(self.addresses[0], 20).close()
        except ConnectionError:
            assert self.process.poll() is None, self.process.stdout.read()
            return False
        return True

    def begun(self):
        """The request for ``/slow`` is in the hands of the application."""
        until((self.folder / "began").exists)

    def go(self):
        (self.folder / "go").touch()

    def stop(self, number=signal.SIGTERM):
        """Send the signal, and wait until it has been heard."""
        self.process.send_signal(number)
        until(lambda: not self.listens())

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


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)])
def test_a_signal_lets_everything_under_way_end_and_exits_with_0(serve, number):
    # C-RUN-9, T-F9
    served = serve(drain=100)
    with (
        RawClient(served) as slow,
        RawClient(served, buffer=65536) as download,
        RawClient(served) as idle,
        RawClient(served) as up,
    ):
        assert idle.ask(raw_request()).body == b"done"
        download.send(raw_request("/file"))
        up.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        slow.send(raw_request("/slow"))
        served.begun()
        served.stop(number)
        last = idle.ask(raw_request())
        assert (last.body, last.fields["connection"]) == (b"done", "close")
        assert idle.ended()
        answer = up.ask(b"cd")
        assert (answer.body, answer.fields["connection"]) == (b"xxxx", "close")
        served.go()
        answer = slow.answer()
        assert (answer.body, answer.fields["connection"]) == (b"done", "close")
        assert download.answer().body == b"0123456789abcdef" * (SIZE // 16)
        assert served.process.wait(60) == 0


def test_what_does_not_end_is_cut_after_drain_seconds(serve):
    # C-RUN-9
    assert Settings.drain_seconds == 30
    served = serve(drain=1)
    with RawClient(served, buffer=4096) as download, RawClient(served) as slow:
        download.send(raw_request("/file"))
        slow.send(raw_request("/slow"))
        served.begun()
        began = monotonic()
        served.process.terminate()
        assert served.process.wait(60) == 0
        assert monotonic() - began > 0.9
    assert b"stopped before 2 requests or downloads had ended" in served.process.stdout.read()


def test_a_second_signal_ends_the_drain(serve):
    served = serve(drain=200)
    with RawClient(served) as slow:
        slow.send(raw_request("/slow"))
        served.begun()
        served.stop()
        served.process.terminate()
        assert served.process.wait(60) == 0


def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "2")])
    return [b"ok"]


def test_idle_and_half_open_connections_do_not_hold_a_drain_up():
    with running(hello, drain_seconds=200) as service:
        with RawClient(service) as idle, RawClient(service) as half, RawClient(service) as silent:
            idle.ask(raw_request())
            half.send(b"GET / HTTP/1.1\r\n")
            began = monotonic()
            service.stop()
            assert idle.ended()
            assert half.ended()
            assert silent.ended()
    assert monotonic() - began < 60


def test_the_limit_of_open_files_is_raised_and_bounds_the_connections(monkeypatch, caplog):
    limits = {"now": (1024, 4096)}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: limits.update(now=pair))
    assert raise_file_limit(100) == 100
    assert limits["now"] == (4096, 4096)
    assert raise_file_limit(2000) == (4096 - 256) // 4
    assert "connection_limit" in caplog.text
    limits["now"] = (1024, resource.RLIM_INFINITY)
    assert raise_file_limit(2000) == 2000
    assert limits["now"] == (65536, resource.RLIM_INFINITY)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"listen": "{taken}"}, "it cannot listen at the address in [server:main]: Address already in use"),
        ({"unix_socket": "/nonexistent/modhub.sock"}, "[server:main]: No such file or directory"),
        ({"thread": "4"}, "[server:main] is wrong: the key thread is unknown; the nearest is threads"),
        ({"threads": "x"}, "[server:main] is wrong: threads must be a whole number, not 'x'"),
        ({"cleanup_interval": "0"}, "[server:main] is wrong: cleanup_interval must be above zero"),
        ({"listen": "127.0.0.1:65536"}, "[server:main] is wrong: "),
    ],
)
def test_what_the_operator_must_mend_ends_the_start_with_one_line(settings, words):
    # C-SET-2
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        replaced = {name: value.replace("{taken}", address) for name, value in settings.items()}
        with pytest.raises(StartRefused) as end:
            server.serve(hello, **replaced)
    assert words in str(end.value)
    assert "\n" not in str(end.value)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "listen", "is_late"), [("x", "{taken}", True), ("x", "127.0.0.1:65536", False), ("1%2", "{taken}", False)]
)
def test_a_server_that_cannot_be_ends_pserve_with_one_line_and_a_code(tmp_path, path, listen, is_late):
    """Pyramid's own takes a SystemExit from a server that runs for an orderly end: its code would be 0."""
    (tmp_path / "served.py").write_text(APP)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ini = INI.replace("127.0.0.1:{port}", listen.format(taken=f"127.0.0.1:{taken.getsockname()[1]}"))
        (tmp_path / "served.ini").write_text(ini.format(path=path, drain=1))
        command = [sys.executable, "-W", "ignore", "-m", "pyramid.scripts.pserve", "served.ini"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert ended.returncode == 1, ended
    (printed,) = [line for line in ended.stderr.splitlines() if not line.startswith("Starting server")]
    assert printed.startswith("modhub does not start: ")
    # What can be judged without listening is judged before the application is made.
    assert ("Starting server" in ended.stderr) is is_late


def test_several_listeners_and_stop_from_any_thread():
    with running(hello, listen="127.0.0.1:0 127.0.0.1:0") as service:
        for address in service.addresses:
            with socket.create_connection(address, 10) as client:
                client.sendall(raw_request())
                assert client.recv(12) == b"HTTP/1.1 200"
    service.stop()
