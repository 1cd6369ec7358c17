"""When timers last did their work, the certificate, and the build: for alerts."""

import ssl
from collections.abc import Callable
from pathlib import Path
from time import time
from typing import Any

import pytest

from modhub.admin.program import run_command
from modhub.declarations import Declarations
from modhub.ops import certificate, metrics, task_times
from modhub_testing import Site, Start

pytestmark = pytest.mark.slow

Run = Callable[..., int]


@pytest.fixture
def run(site: Site) -> Run:
    def command(*words: str) -> int:
        return run_command(site.config, ["-c", "unused", *words])

    return command


def test_a_task_that_succeeded_has_a_time(site: Site, run: Run, tmp_path: Path) -> None:
    # C-RUN-49
    assert task_times.success_times(site.registry) == {}
    before = time()
    for words in (["sweep", "--dry-run"], ["backup", "--dry-run", str(tmp_path / "none")], ["verify"]):
        assert run(*words) == 0
    assert task_times.success_times(site.registry) == {}
    for words in (["sweep"], ["backup", str(tmp_path / "backup")], ["audit", "verify"]):
        assert run(*words) == 0
    times: Any = task_times.success_times(site.registry)
    assert set(times) == {"sweep", "backup", "audit"}
    assert all(before - 1 < moment < time() + 1 for moment in times.values())
    assert run("backup", "--verify", str(tmp_path / "backup")) == 0
    assert task_times.success_times(site.registry)["backup"] == times["backup"], "no new one was made"


def test_a_task_that_failed_has_none(site: Site, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-49
    monkeypatch.setattr("modhub.audit.commands.damage", lambda *_: ["Entry 1 was changed."])
    assert run("audit", "verify") == 1
    assert task_times.success_times(site.registry) == {}


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_the_certificate_is_asked_for_in_the_background(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-RUN-49
    site = start("", modhub__base_url="https://mods.example.org:8443")
    assert "certificate" in {worker.name for worker in site.find_service(Declarations).workers}
    asked: list[Any] = []
    expires = time() + 1000

    def answer(host: str, port: int) -> float:
        asked.append((host, port))
        return expires

    assert certificate._seconds_left(site.registry) is None
    monkeypatch.setattr(certificate, "expiry_time", answer)
    certificate.ask_certificate(site.registry)
    assert asked == [("mods.example.org", 8443)]
    assert 990 < (certificate._seconds_left(site.registry) or 0) <= 1000

    def fail(error: Exception) -> None:
        def refuse(*_: Any) -> float:
            raise error

        monkeypatch.setattr(certificate, "expiry_time", refuse)
        certificate.ask_certificate(site.registry)

    fail(OSError("nobody answers"))
    assert (certificate._seconds_left(site.registry) or 0) > 990, "what was known stays"
    fail(ssl.SSLCertVerificationError("expired"))
    assert certificate._seconds_left(site.registry) == 0


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_without_https_nobody_is_asked(start: Start) -> None:
    # C-RUN-49
    site = start("", modhub__base_url="http://127.0.0.1:6543")
    assert "certificate" not in {worker.name for worker in site.find_service(Declarations).workers}


def test_the_build_has_its_version(site: Site) -> None:
    # C-RUN-49
    ((labels, value),) = metrics._build_info(site.registry).items()
    assert (len(labels), value) == (2, 1.0)
