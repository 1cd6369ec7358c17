"""The shipped ``deploy/nginx.conf`` in a real nginx, with TLS, in front of two real ``pserve`` processes."""

from pathlib import Path

import pytest

from modhub_testing.nginx import BEHIND_PROXY, HOST, Proxy
from modhub_testing.object_store import disturbed_line, object_store, prefix
from modhub_testing.service import Installation

__all__ = ["disturbed_line", "object_store", "prefix"]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Two processes, as behind ``deploy/nginx.conf``."""
    folder = tmp_path_factory.mktemp("deployed")
    settings = {"modhub.base_url": f"https://{HOST}", "modhub_auth.register_limit": "1000"}
    made = Installation(
        folder,
        f"sqlite:///{folder}/modhub.sqlite",
        "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki",
        settings=settings,
        server=BEHIND_PROXY,
    )
    migrated = made.admin("migrate")
    assert migrated.returncode == 0, migrated
    for process in [made.launch() for _ in range(2)]:
        process.wait()
    yield made
    made.stop()
    assert "Traceback" not in made.log(), made.log()[-8000:]
    assert "trusted_proxy" not in made.log()


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    """``nginx(ports)``: the site in front of processes at these ports, running."""
    made = []

    def start(upstreams):
        made.append(Proxy(tmp_path_factory.mktemp("proxy") / "nginx", ROOT / "deploy" / "nginx.conf", upstreams))
        made[-1].start()
        return made[-1]

    yield start
    for proxy in made:
        proxy.stop()


@pytest.fixture(scope="module")
def proxy(service, nginx):
    """The site in front of the service's processes."""
    return nginx([process.port for process in service.processes if process.popen.poll() is None])
