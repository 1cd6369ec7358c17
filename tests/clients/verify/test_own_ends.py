"""``modhub-verify``, part ``own``: however a run ends, nothing of it stays, or what stays is named. And its secrets."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from modhub_client.outcome import WrongUse
from modhub_client.verify import own_mod, owner
from modhub_client.verify.main import main
from modhub_client.verify.run import RunCredentials, read_credentials
from modhub_testing import Site, Start
from modhub_testing.broken_service import BrokenService, Fault
from modhub_testing.lines import Relay
from modhub_testing.running_server import running
from modhub_testing.service import script

pytestmark = pytest.mark.long

EMAIL, PASSWORD = "owner@example.org", "correct horse battery"
KEY = "k" * 64
ENVIRONMENT = ("MODHUB_VERIFY_EMAIL", "MODHUB_VERIFY_PASSWORD", "MODHUB_VERIFY_TOKEN", "MODHUB_VERIFY_KEY")


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site(start: Start) -> Site:
    keys = f"{KEY} Modhub:app Modhub:wiki"
    site = start("modhub_auth modhub_wiki modhub_builds modhub_sync", modhub_auth__failures="1000", ApiPrivateKeys=keys)
    site.post_json("/api/auth/register", {"email": EMAIL, "password": PASSWORD}, status=201)
    return site


@pytest.fixture
def served(site: Site) -> Iterator[BrokenService]:
    service = BrokenService(site.app)
    with running(service) as server:
        service.port = server.addresses[0][1]  # type: ignore[attr-defined]
        yield service


@pytest.fixture
def account(tmp_path: Path) -> Path:
    return write(tmp_path / "account", f"{EMAIL}\n{PASSWORD}\n")


def left(site: Site) -> list[Any]:
    """What the service shows of a run, to anybody and to its owner."""
    token = site.post_json("/api/auth/login", {"email": EMAIL, "password": PASSWORD}).json["accessToken"]
    mine = site.get("/api/modhub/mine", headers={"Authorization": f"Bearer {token}"}).json["mods"]
    return [*mine, *site.get("/api/modhub").json["mods"], *site.get("/Modhub/api/wiki").json["pages"]]


MOMENTS = {
    "creation": "POST /api/modhub",
    "upload": r"POST /api/modhub/\d+/code.*",
    "publication": r"POST /api/modhub/\d+/publish",
    "public": r"GET /api/modhub/\d+/download",
    "wiki": "PUT /Modhub/api/wiki/.*/read",
}


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_that_is_interrupted_leaves_nothing(
    site: Site, served: BrokenService, account: Path, moment: str, number: signal.Signals
) -> None:
    reached = Event()
    served.faults = [Fault(MOMENTS[moment], after=lambda *_: (reached.set(), time.sleep(0.2)))]
    key = write(account.with_name("key"), KEY)
    part = ["--part", "publish", "--key-file", str(key)] if moment == "wiki" else ["--part", "own"]
    command = [script("modhub-verify"), f"http://127.0.0.1:{served.port}", *part]  # type: ignore[attr-defined]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "--account-file", account], stdout=pipe, stderr=pipe, text=True) as client:
        assert reached.wait(60)
        client.send_signal(number)
        output, errors = client.communicate(timeout=60)
    assert client.returncode == 130, (output, errors)
    assert "Traceback" not in errors
    assert left(site) == []
    assert any(call.startswith(("DELETE", "POST /api/auth/logout")) for call in served.calls)


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_second_interrupt_does_not_end_the_cleaning(site: Site, served: BrokenService, account: Path) -> None:
    published, cleaning = Event(), Event()
    served.faults = [
        Fault(MOMENTS["public"], after=lambda *_: (published.set(), time.sleep(0.2))),
        Fault(r"DELETE /api/modhub/\d+", before=lambda _: (cleaning.set(), time.sleep(0.3))),
    ]
    command = [script("modhub-verify"), f"http://127.0.0.1:{served.port}", "--part", "own"]  # type: ignore[attr-defined]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "--account-file", account], stdout=pipe, stderr=pipe, text=True) as client:
        assert published.wait(60)
        cleaning.clear()
        client.send_signal(signal.SIGINT)
        assert cleaning.wait(60)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60)
    assert client.returncode == 130
    assert left(site) == []


class LostLine(Relay):
    """A line that is lost when a request with ``mark`` arrives; ``passes``: that one reaches the service all the same.

    It is there again after ``seconds``, and is lost only once.
    """

    def __init__(self, port: int, mark: bytes, seconds: float, *, passes: bool) -> None:
        self.mark, self.seconds, self.passes = mark, seconds, passes
        self.until = 0.0
        super().__init__(port)

    def is_refused(self) -> bool:
        return time.monotonic() < self.until

    def request(self, data: bytes, client: socket.socket) -> bytes | None:
        if self.until == 0.0 and self.mark in data:
            self.until = time.monotonic() + self.seconds
            return data if self.passes else None
        return data

    def answer(self, data: bytes, passed: int) -> tuple[bytes, bool]:
        is_lost = time.monotonic() < self.until
        return (b"" if is_lost else data), not is_lost


@pytest.fixture
def lost(
    served: BrokenService, account: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """``lost(mark, seconds, passes=…)``: a run over such a line; its exit code and output."""
    monkeypatch.setattr(owner, "CLEANING_PAUSE", 0.1)

    def run(mark: bytes, seconds: float, *, passes: bool) -> tuple[int, str]:
        line = LostLine(served.port, mark, seconds, passes=passes)  # type: ignore[attr-defined]
        try:
            code = main([line.endpoint, "--part", "own", "--account-file", str(account)])
        finally:
            line.close()
        return code, "".join(capsys.readouterr())

    return run


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize("passes", [False, True])
@pytest.mark.parametrize("mark", [b"POST /api/modhub HTTP", b"/publish HTTP", b"/download HTTP"])
def test_a_lost_line_leaves_nothing_once_it_is_back(
    site: Site, lost: Callable[..., tuple[int, str]], mark: bytes, passes: bool
) -> None:
    code, output = lost(mark, 1.0, passes=passes)
    assert code == 3, output
    assert "cannot be reached" in output
    assert left(site) == []


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_what_is_left_on_a_line_that_stays_lost_is_named(
    site: Site, lost: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.5)
    code, output = lost(b"/download HTTP", 600.0, passes=False)
    remaining = {mod["id"]: mod["title"] for mod in left(site)}
    assert remaining
    assert code == 1, output
    for number, title in remaining.items():
        assert f"{number} “modhub-verify" in output
        assert title.startswith("modhub-verify ")


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_mod_is_deleted_when_it_was_public_long_enough(
    site: Site,
    served: BrokenService,
    account: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(own_mod, "PUBLIC_SECONDS", 0.05)
    url = f"http://127.0.0.1:{served.port}"  # type: ignore[attr-defined]
    assert main([url, "--part", "own", "--account-file", str(account)]) == 0
    assert "public long enough" in capsys.readouterr().out
    assert left(site) == []
    assert any(call.startswith("DELETE /api/modhub/") for call in served.calls)


@pytest.mark.parametrize("dialect", ["sqlite"])
@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("own", f"{EMAIL}\nsomething else\n"),
        ("own", "mhk_0123456789ab_something"),
        ("own", "something"),
        ("publish", "something"),
    ],
)
def test_a_credential_that_is_refused_is_told_at_once(
    served: BrokenService, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: str, text: str
) -> None:
    option = "--account-file" if part == "own" else "--key-file"
    url = f"http://127.0.0.1:{served.port}"  # type: ignore[attr-defined]
    assert main([url, "--part", part, option, str(write(tmp_path / "secret", text))]) == 2
    output = "".join(capsys.readouterr())
    assert re.search(r"The service refuses the (account|machine key) \(401 \w+\)", output)
    assert "something" not in output
    assert not any(re.match("(POST|PUT|DELETE) /api/modhub", call) for call in served.calls)


def write(path: Path, text: str) -> Path:
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
def test_an_account_file(tmp_path: Path, text: str, expected: RunCredentials) -> None:
    read = read_credentials(write(tmp_path / "account", text), None)
    assert read == expected
    assert read.has_account
    for secret in (read.password, read.token, read.publisher_key):
        assert not secret or secret not in repr(read)


def test_a_key_file_and_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_credentials(None, write(tmp_path / "key", f"{KEY}\n")) == RunCredentials(machine_key=KEY)
    for name, value in zip(ENVIRONMENT, (EMAIL, PASSWORD, "", KEY), strict=True):
        monkeypatch.setenv(name, value)
    assert read_credentials(None, None) == RunCredentials(email=EMAIL, password=PASSWORD, machine_key=KEY)


@pytest.mark.parametrize(
    "text", ["", "a@example.org\n", "one\ntwo\n", "a@example.org\nb\nc\n", "two words\n", "x" * 10_001]
)
def test_an_account_file_that_says_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(WrongUse):
        read_credentials(write(tmp_path / "account", text), None)


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
@pytest.mark.parametrize("rights", [0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, rights: int) -> None:
    file = write(tmp_path / "secret", f"{EMAIL}\n{PASSWORD}\n")
    file.chmod(rights)
    for arguments in ((file, None), (None, file)):
        with pytest.raises(WrongUse, match="chmod 600"):
            read_credentials(*arguments)
    assert main(["http://127.0.0.1:1", "--account-file", str(file)]) == 2
