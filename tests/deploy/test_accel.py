"""`modhub.accel_redirect`: nginx sends the files, with the shipped site."""

import hashlib
import os
import re
import stat
from pathlib import Path

import pytest

from modhub_testing.nginx import BEHIND_PROXY, HOST, Proxy
from modhub_testing.service import Installation

SITE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
OF_ONE_ANSWER = {"date", "server", "connection", "x-request-id", "keep-alive", "strict-transport-security"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sent by nginx")
    settings = {"modhub.accel_redirect": "/_files/", "modhub.base_url": f"https://{HOST}"}
    url = f"sqlite:///{folder}/modhub.sqlite"
    made = Installation(folder, url, "modhub_testing.accounts", settings=settings, server=BEHIND_PROXY)
    assert made.admin("migrate").returncode == 0
    made.start()
    yield made
    made.stop()
    assert "Traceback" not in made.log(), made.log()[-4000:]


@pytest.fixture
def sending(service, tmp_path):
    """`sending("root")`: nginx in front of the service, its workers run by this user if the test is root's."""
    made = []

    def start(user):
        ports = [process.port for process in service.processes]
        made.append(Proxy(tmp_path / "nginx", SITE, ports, files=service.files, user=user))
        made[0].start()
        return made[0]

    yield start
    made[0].stop()


@pytest.fixture
def owner(service):
    return service.caller("account-7")


@pytest.fixture
def path(owner):
    """Where the file of a published mod is downloaded."""
    mod = owner.published("Large", CONTENT)
    return f"/api/modhub/{mod['id']}/download"


CONTENT = os.urandom(3_000_000)


def shown(answer):
    headers = sorted((name.lower(), value) for name, value in answer.headers.items())
    return answer.status, [field for field in headers if field[0] not in OF_ONE_ANSWER], answer.body


def stored(service, owner, path):
    """Where the service tells nginx that the file is."""
    answer = owner.ask("GET", path)
    assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "0")
    redirect = answer.headers["X-Accel-Redirect"]
    assert re.fullmatch("/_files/[0-9a-f]{2}/[0-9a-f]{30}", redirect)
    return service.files / redirect.removeprefix("/_files/")


def test_a_whole_file_has_the_same_headers_from_nginx(service, owner, sending, path):
    # C-FILE-1
    assert stored(service, owner, path).read_bytes() == CONTENT
    nginx = sending("root")
    for method in ("GET", "HEAD"):
        # A condition that never holds keeps the service from redirecting.
        direct = owner.ask(method, path, headers={"If-None-Match": '"never"'})
        assert shown(nginx.ask(method, path)) == shown(direct)
    assert (direct.headers["ETag"], nginx.ask("GET", path).body) == (
        f'"{hashlib.sha256(CONTENT).hexdigest()}"',
        CONTENT,
    )
    for absent in ("/api/modhub/999/download", "/_files/00/" + "0" * 30, "/_files/"):
        assert nginx.ask("GET", absent).status == 404


def test_a_file_that_is_replaced_meanwhile_is_the_new_one_and_a_lost_one_is_503(service, owner, sending, path):
    # C-FILE-8
    nginx, first = sending("root"), stored(service, owner, path)
    assert stat.S_IMODE(first.stat().st_mode) == 0o640
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o750
    assert owner.send_file(int(path.split("/")[3]), "code", b"the second", version="2").status == 201
    assert nginx.ask("GET", path).body == b"the second"
    stored(service, owner, path).unlink()
    assert nginx.ask("GET", path).status == 503


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's nginx can have a user whom modes keep out")
def test_a_file_that_nginx_cannot_read_has_no_tag(sending, path):
    answer = sending("nobody nogroup").ask("GET", path)
    assert answer.status == 403
    assert not {"etag", "repr-digest", "last-modified"} & {name.lower() for name in answer.headers}
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
