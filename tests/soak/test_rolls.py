"""Fifty rolling restarts of two processes behind the shipped nginx, across a migration."""

import itertools
import logging
import signal
import time
from pathlib import Path

from modhub_testing.databases import TemplateDatabases
from modhub_testing.nginx import BEHIND_PROXY, HOST, Proxy
from modhub_testing.service import Installation
from modhub_testing.traffic import Traffic, restart

log = logging.getLogger(__name__)
NGINX = Path(__file__).parents[2] / "deploy" / "nginx.conf"
ROLLS = 50
BEFORE, AFTER = "modhub_auth", "modhub_auth modhub_builds modhub_wiki"


def test_fifty_rolls_across_a_migration_lose_no_request(template_databases: TemplateDatabases, tmp_path: Path) -> None:
    url = template_databases.new("postgresql", BEFORE, tmp_path / "unused")
    folder = tmp_path / "service"
    folder.mkdir()
    settings = {"modhub.base_url": f"https://{HOST}"}
    service = Installation(folder, url, BEFORE, settings=settings, server=BEHIND_PROXY)
    processes = [service.start() for _ in range(2)]
    proxy = Proxy(tmp_path / "nginx", NGINX, [process.port for process in processes])
    proxy.start()
    traffic = Traffic(proxy)
    began = time.monotonic()
    signals = itertools.cycle((signal.SIGTERM, signal.SIGHUP, signal.SIGHUP, signal.SIGTERM))
    try:
        for turn, number in zip(range(ROLLS), signals, strict=False):
            if turn == ROLLS // 2:
                # The code that runs does not know these tables; the code that is started next does.
                service.configure(AFTER, settings, BEHIND_PROXY)
                migrated = service.admin("migrate")
                assert migrated.returncode == 0, migrated
            processes[turn % 2] = restart(service, processes[turn % 2], number)
            assert traffic.failures == []
    finally:
        traffic.end()
        proxy.stop()
        service.stop()
    assert traffic.failures == []
    log.info("answered: %s in %.0f s", dict(traffic.answered), time.monotonic() - began)
    assert traffic.answered["download"] > ROLLS // 2
    assert traffic.answered["upload"] > ROLLS // 2
    assert "Traceback" not in service.log()
    template_databases.drop(url)
