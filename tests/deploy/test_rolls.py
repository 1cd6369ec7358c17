"""Rolling restarts behind the shipped nginx: a few, or fifty with ``MODHUB_LONG_RACES=1``."""

import itertools
import os
import signal

from modhub_testing.nginx import BEHIND_PROXY, HOST
from modhub_testing.service import Installation
from modhub_testing.traffic import Traffic, restart

ROLLS = 50 if os.environ.get("MODHUB_LONG_RACES") else 4


def test_a_rolling_restart_loses_no_request(template_databases, nginx, tmp_path):
    url = template_databases.new("postgresql", "modhub_auth", tmp_path / "unused")
    settings = {"modhub.base_url": f"https://{HOST}"}
    folder = tmp_path / "service"
    folder.mkdir()
    service = Installation(folder, url, "modhub_auth", settings=settings, server=BEHIND_PROXY)
    traffic, signals = None, itertools.cycle((signal.SIGTERM, signal.SIGHUP, signal.SIGHUP, signal.SIGTERM))
    try:
        processes = [service.start() for _ in range(2)]
        traffic = Traffic(nginx([process.port for process in processes]))
        for turn, number in zip(range(ROLLS), signals, strict=False):
            processes[turn % 2] = restart(service, processes[turn % 2], number)
    finally:
        if traffic is not None:
            traffic.end()
        service.stop()
    assert traffic.failures == []
    assert {"read", "write", "upload", "download"} <= traffic.answered.keys()
    assert "Traceback" not in service.log()
    template_databases.drop(url)
