"""What the service can do without is reported once, and nothing else is swallowed."""

import errno
import resource
import socket

import pytest

from modhub.base import optional_calls
from modhub.base.optional_calls import optional_call
from modhub.catalogue.pictures.child import DecodingFailed, check_output
from modhub.server.settings import Settings, raise_file_limit
from modhub_auth.signin import openid


@pytest.fixture(autouse=True)
def messages(monkeypatch, caplog):
    monkeypatch.setattr(optional_calls, "_reported", set())
    logged = list[str]()
    yield logged
    records = [record for record in caplog.get_records("call") if record.name == optional_calls.log.name]
    assert [record.getMessage() for record in records] == logged


def refuse(*_, **__):
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_a_refused_call_is_reported_once_and_the_service_goes_on(messages):
    for _ in range(3):
        with optional_call("splice", "it is slower"):
            refuse()
    with optional_call("tee", "it is louder"):
        raise ValueError("not allowed to raise maximum limit")
    messages += [
        "the system refuses splice (Operation not permitted): it is slower",
        "the system refuses tee (not allowed to raise maximum limit): it is louder",
    ]


def test_other_errors_are_no_refusal():
    with pytest.raises(TypeError), optional_call("splice", "it is slower"):
        raise TypeError


def test_limits_that_can_neither_be_asked_for_nor_changed(monkeypatch, messages):
    monkeypatch.setattr(resource, "getrlimit", refuse)
    assert raise_file_limit(2000) == 2000
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit(2000) == (1024 - 256) // 4
    messages += ["the system refuses setrlimit (Operation not permitted): few files may be open at once"]


def test_options_that_a_socket_does_not_take(monkeypatch, messages):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(socket.socket, "setsockopt", refuse)
        options = [option for _, option, _ in Settings(listen="127.0.0.1:0").socket_options]
        assert options == [socket.TCP_NODELAY]
        openid._connect("127.0.0.1", listener.getsockname()[1], openid.monotonic() + 60).close()
    messages += [
        "the system refuses TCP_NOTSENT_LOWAT (Operation not permitted): slow readers may be cut although they read",
        "the system refuses TCP_NODELAY (Operation not permitted): signing in through a platform takes longer",
    ]


def test_what_the_decoder_could_not_have(messages):
    # T-A10
    for _ in range(2):
        with pytest.raises(DecodingFailed):
            check_output(b'{"problem": "damaged", "missed": ["nice", "setrlimit", "setrlimit", "ALARM: forged"]}\n')
    messages += [
        "the system refuses nice to the decoder (reported by the decoder): decoding images slows down requests",
        "the system refuses setrlimit to the decoder (reported by the decoder): "
        "decoding an image may take as much memory as it likes",
    ]


SAME_USER = """
import ctypes, os, pathlib, sys
from modhub.base.optional_calls import hide_process

def can_be_read():
    parent = os.getpid()
    if (child := os.fork()) == 0:
        try:
            pathlib.Path(f"/proc/{parent}/environ").read_bytes()
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
# As a program is that was started by this user.
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
before = can_be_read()
hide_process()
print(before, can_be_read())
"""


@pytest.mark.process
def test_other_processes_of_the_same_user_cannot_read_the_secrets(run_program):
    # T-A10b
    assert run_program(SAME_USER).stdout.split() == ["True", "False"]
