"""A running service with all that ``development.ini`` enables, where there is something of everything to be read."""

from base64 import b64encode
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from modhub_testing import DATABASES
from modhub_testing.service import Installation, features_of, free_port

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / ".venv" / "api" / "bin"
"""schemathesis and openapi-python-client, which ``make test-api`` installs apart from the suite."""
MACHINE_KEY, ADDRESS_KEY = "the-key-of-the-build-agent", "the-key-of-the-storage-machine"
UNLIMITED = "999999999"
SETTINGS = {
    "ApiPrivateKeys": f"{MACHINE_KEY} Modhub:app Modhub:wiki",
    "modhub.storage_address_key": ADDRESS_KEY,
    "modhub_auth.failures": UNLIMITED,
    "modhub_auth.register_limit": UNLIMITED,
    "modhub_auth.forgot_limit": UNLIMITED,
    "modhub_sync.signing_key": b64encode(bytes(32)).decode(),
}
DRAFT = "nobody-but-its-owner-may-see-this"
CODE = b"the code of a mod " * 1000
PNG = b"\x89PNG\r\n\x1a\n" + bytes(1000)


class Served(NamedTuple):
    """A service, its address, a published mod in it, and the token of another account."""

    installation: Installation
    url: str
    mod: dict
    token: str


def pytest_generate_tests(metafunc):
    """The databases of the option, unless the test names them: two at the same time."""
    named = {known.args[0] for known in metafunc.definition.iter_markers("parametrize")}
    if "kind" not in metafunc.fixturenames or "kind" in named:
        return
    databases = DATABASES[metafunc.config.getoption("databases")]
    marked = [pytest.param(database, marks=pytest.mark.xdist_group(database)) for database in databases]
    metafunc.parametrize("kind", marked, indirect=True)


@pytest.fixture
def kind(request):
    return str(request.param)


@contextmanager
def serving(kind, template_databases, folder, settings):
    """A service with all features, and its address. Nothing leaves a traceback in its log."""
    includes = features_of(ROOT / "development.ini")
    database, port = template_databases.new(kind, includes, folder / "modhub.sqlite"), free_port()
    url = f"http://127.0.0.1:{port}"
    installation = Installation(folder, database, includes, settings={**SETTINGS, "modhub.base_url": url, **settings})
    installation.start(port=port)
    yield installation, url
    installation.stop()
    template_databases.drop(database)
    assert "Traceback" not in installation.log(), installation.log()[-8000:]


@pytest.fixture
def served(kind, template_databases, tmp_path_factory, _compiled_templates):
    """A service of the test's own, so that each run begins with the same."""
    with serving(kind, template_databases, tmp_path_factory.mktemp("api"), _compiled_templates) as (installation, url):
        caller, owner = installation.register("caller"), installation.register("owner")
        # Its number is 1: of all numbers schemathesis tries that one most.
        own = caller.published("The caller's own")
        assert caller.send_file(own["id"], "images", PNG, "image/png", name="own.png").status == 201
        yield Served(installation, url, fill(installation, owner), caller.token)


def fill(installation, owner):
    """Publish a mod with what it requires, create a draft, and make one of everything else; return the mod."""
    required = owner.published("A library", games=["Portal"])
    mod = owner.published("A display for rallies", CODE, games=["Dirt Rally 2.0"], requires=[required["guid"]])
    assert owner.send_file(mod["id"], "images", PNG, "image/png", name="night.png").status == 201
    draft = owner.new_mod(DRAFT, description=DRAFT, requires=[mod["guid"]])
    assert owner.send_file(draft["id"], "code", DRAFT.encode(), version="1", name=f"{DRAFT}.zip").status == 201
    agent = {"X-Api-Key": MACHINE_KEY}
    for method, path, text in [
        ("POST", "/api/modhub/app/windows?version=1.4", "the app"),
        ("POST", "/api/modhub/app/changelog", "1.4\n- The first one."),
        ("PUT", "/Modhub/api/wiki/guide/start", "# Start\n\nHere."),
    ]:
        answer = owner.ask(method, path, text.encode(), {**agent, "Content-Type": "text/plain"})
        assert answer.status in {200, 201}, answer
    for words in (["tag", "add", "speedrun", "--en", "Speedrun", "--de", "Speedrun"], ["snapshot"]):
        done = installation.admin(*words)
        assert done.returncode == 0, done
    return owner.need(200, "GET", f"/api/modhub/{mod['id']}")
