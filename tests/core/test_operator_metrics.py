"""When timers last did their work, the certificate, and the build: for alerts."""

import ssl
from time import time
from typing import Any

import pytest

from modhub.declarations import Declarations
from modhub.ops import certificate, metrics
from modhub_testing import Site, Start

pytestmark = pytest.mark.slow


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
