"""``modhub-verify``, part ``own``: however a run ends, nothing of it stays, or what stays is named. And its secrets."""

import os
import re
import signal
import time
from contextlib import contextmanager
from subprocess import PIPE, Popen
from threading import Event

import pytest

from modhub_client.output import WrongUse
from modhub_client.verify import own_mod, owner
from modhub_client.verify.main import main
from modhub_client.verify.run import RunCredentials, read_credentials
from modhub_testing.broken_service import Fault
from modhub_testing.lines import Relay
from modhub_testing.service import script
from tests.people import PASSWORD

from .conftest import BOTH, ENVIRONMENT

pytestmark = pytest.mark.long

EMAIL = "owner@example.org"


@pytest.fixture
def account(tmp_path):
    return write(tmp_path / "account", f"{EMAIL}\n{PASSWORD}\n")


@contextmanager
def verifying(verified, *words):
    """The program, which is at work."""
    command = [script("modhub-verify"), verified.url, *words]
    with Popen(command, stdout=PIPE, stderr=PIPE, text=True) as client:
        yield client


WHILE_PUBLIC = r"GET /api/modhub/\d+/download"


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("POST /api/modhub", signal.SIGINT),
        (r"POST /api/modhub/\d+/publish", signal.SIGTERM),
        (WHILE_PUBLIC, signal.SIGINT),
        ("PUT /Modhub/api/wiki/.*/read", signal.SIGTERM),
    ],
)
def test_a_run_that_is_interrupted_leaves_nothing(verified, account, call, number):
    reached = Event()
    verified.faulty.faults = [Fault(call, after=lambda *_: (reached.set(), time.sleep(0.2)))]
    key = write(account.with_name("key"), BOTH)
    part = ["--part", "publish", "--key-file", str(key)] if "wiki" in call else ["--part", "own"]
    with verifying(verified, *part, "--account-file", str(account)) as client:
        assert reached.wait(60)
        client.send_signal(number)
        output, errors = client.communicate(timeout=60)
    assert client.returncode == 130, (output, errors)
    assert "Traceback" not in errors
    assert verified.left() == []
    assert any(made.startswith(("DELETE", "POST /api/auth/logout")) for made in verified.faulty.calls)


def test_a_second_interrupt_does_not_end_the_cleaning(verified, account):
    published, cleaning = Event(), Event()
    verified.faulty.faults = [
        Fault(WHILE_PUBLIC, after=lambda *_: (published.set(), time.sleep(0.2))),
        Fault(r"DELETE /api/modhub/\d+", before=lambda _: (cleaning.set(), time.sleep(0.3))),
    ]
    with verifying(verified, "--part", "own", "--account-file", str(account)) as client:
        assert published.wait(60)
        cleaning.clear()
        client.send_signal(signal.SIGINT)
        assert cleaning.wait(60)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60)
    assert client.returncode == 130
    assert verified.left() == []


class LostLine(Relay):
    """A line that is lost when a request with ``mark`` arrives; ``passes``: that one reaches the service all the same.

    It is there again after ``seconds``, and is lost only once.
    """

    def __init__(self, port, mark, seconds, *, passes):
        self.mark, self.seconds, self.passes = mark, seconds, passes
        self.until = 0.0
        super().__init__(port)

    def is_refused(self):
        return time.monotonic() < self.until

    def request(self, data, client):
        if self.until == 0.0 and self.mark in data:
            self.until = time.monotonic() + self.seconds
            return data if self.passes else None
        return data

    def answer(self, data, passed):
        is_lost = time.monotonic() < self.until
        return (b"" if is_lost else data), not is_lost


@pytest.fixture
def lost(verified, account, monkeypatch, capsys):
    """``lost(mark, seconds, passes=…)``: a run over such a line; its exit code and output."""
    monkeypatch.setattr(owner, "CLEANING_PAUSE", 0.1)

    def run(mark, seconds, *, passes):
        line = LostLine(int(verified.url.rpartition(":")[2]), mark, seconds, passes=passes)
        try:
            code = main([line.endpoint, "--part", "own", "--account-file", str(account)])
        finally:
            line.close()
        return code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("mark", "passes"), [(b"POST /api/modhub HTTP", True), (b"/publish HTTP", True), (b"/download HTTP", False)]
)
def test_a_lost_line_leaves_nothing_once_it_is_back(verified, lost, mark, passes):
    code, output = lost(mark, 1.0, passes=passes)
    assert code == 3, output
    assert "cannot be reached" in output
    assert verified.left() == []


def test_what_is_left_on_a_line_that_stays_lost_is_named(verified, lost, monkeypatch):
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.5)
    code, output = lost(b"/download HTTP", 600.0, passes=False)
    assert code == 1, output
    remaining = [address.rpartition("/")[2] for address in verified.left()]
    assert remaining
    assert all(f"{number} “modhub-verify" in output for number in remaining)


def test_a_mod_is_deleted_when_it_was_public_long_enough(verified, account, monkeypatch, capsys):
    monkeypatch.setattr(own_mod, "PUBLIC_SECONDS", 0.05)
    assert main([verified.url, "--part", "own", "--account-file", str(account)]) == 0
    assert "public long enough" in capsys.readouterr().out
    assert verified.left() == []
    assert any(call.startswith("DELETE /api/modhub/") for call in verified.faulty.calls)


@pytest.mark.parametrize(
    ("part", "text"),
    [("own", f"{EMAIL}\nsomething else\n"), ("own", "mhk_0123456789ab_something"), ("publish", "something")],
)
def test_a_credential_that_is_refused_is_told_at_once(verified, tmp_path, capsys, part, text):
    option = "--account-file" if part == "own" else "--key-file"
    assert main([verified.url, "--part", part, option, str(write(tmp_path / "secret", text))]) == 2
    output = "".join(capsys.readouterr())
    assert re.search(r"The service refuses the (account|machine key) \(401 \w+\)", output)
    assert "something" not in output
    assert not any(re.match("(POST|PUT|DELETE) /api/modhub", call) for call in verified.faulty.calls)


def write(path, text):
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a@example.org\n pass word \n", RunCredentials(email="a@example.org", password=" pass word ")),
        ("mhk_0123_abc\n", RunCredentials(publisher_key="mhk_0123_abc")),
        ("token.of-an-account\n", RunCredentials(token="token.of-an-account")),
    ],
)
def test_an_account_file(tmp_path, text, expected):
    read = read_credentials(write(tmp_path / "account", text), None)
    assert read == expected
    assert read.has_account
    for secret in (read.password, read.token, read.publisher_key):
        assert not secret or secret not in repr(read)


def test_a_key_file_and_the_environment(tmp_path, monkeypatch):
    assert read_credentials(None, write(tmp_path / "key", f"{BOTH}\n")) == RunCredentials(machine_key=BOTH)
    for name, value in zip(ENVIRONMENT, (EMAIL, PASSWORD, "", BOTH), strict=False):
        monkeypatch.setenv(name, value)
    assert read_credentials(None, None) == RunCredentials(email=EMAIL, password=PASSWORD, machine_key=BOTH)


@pytest.mark.parametrize("text", ["", "a@example.org\n", "a@example.org\nb\nc\n", "two words\n", "x" * 10_001])
def test_an_account_file_that_says_something_else_is_refused(tmp_path, text):
    with pytest.raises(WrongUse):
        read_credentials(write(tmp_path / "account", text), None)


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_a_file_that_others_can_use_is_refused(tmp_path):
    file = write(tmp_path / "secret", f"{EMAIL}\n{PASSWORD}\n")
    file.chmod(0o640)
    for arguments in ((file, None), (None, file)):
        with pytest.raises(WrongUse, match="chmod 600"):
            read_credentials(*arguments)
    assert main(["http://127.0.0.1:1", "--account-file", str(file)]) == 2
