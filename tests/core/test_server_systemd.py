"""``Type=notify``: systemd hears that the service is ready when it accepts connections, not before."""

import socket

import pytest
from waitress import wasyncore

from modhub.server import notify_systemd_ready, serve
from modhub.server.loop import Server


@pytest.fixture(params=["path", "abstract"])
def heard(request, tmp_path, monkeypatch):
    """systemd's end of the socket."""
    name = str(tmp_path / "notify") if request.param == "path" else f"@modhub-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(name.replace("@", "\0", 1))
        systemd.setblocking(False)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield systemd


def test_ready_means_that_connections_are_accepted(heard, monkeypatch):
    messages = []

    def run(server):
        messages.append(heard.recv(100))
        with socket.create_connection(server.addresses[0], 10):
            pass
        wasyncore.close_all(server.map)
        server.pools.shutdown(1)

    monkeypatch.setattr(Server, "run", run)
    assert serve(lambda *_: [], listen="127.0.0.1:0") == 0
    assert messages == [b"READY=1"]


def test_no_systemd_and_a_dead_one_disturb_nothing(tmp_path, monkeypatch, caplog):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify_systemd_ready()
    assert caplog.text == ""
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "none"))
    notify_systemd_ready()
    assert "systemd cannot be notified: No such file or directory" in caplog.text
