"""Settings that stop ``pserve``, the core alone, and settings from the environment."""

import subprocess
from contextlib import closing

import pytest
from paste.deploy import loadapp

from modhub_testing.service import Installation, free_port

pytestmark = pytest.mark.long

DEVELOPMENT = "development-only-secret-never-for-production"


def refused(service: Installation, *words: str, **environ: str) -> str:
    """Run ``pserve``, which has to end by itself; the one line that the operator reads holds ``words``."""
    return line_of(service.run("pserve", str(service.ini), f"port={free_port()}", **environ), *words)


def line_of(ended: "subprocess.CompletedProcess[str]", *words: str) -> str:
    """The one line of a ``pserve`` that has not started; it holds ``words``."""
    assert ended.returncode > 0, ended
    assert "Traceback" not in ended.stderr + ended.stdout
    # pserve itself says that it starts.
    lines = [line for line in ended.stderr.splitlines() if not line.startswith("Starting server")]
    return one_line("\n".join(lines), *words)


def one_line(message: str, *words: str) -> str:
    """What an operator reads when the service does not start; it holds ``words``."""
    assert message.startswith("modhub does not start: ")
    assert "\n" not in message
    assert [word for word in words if word not in message] == []
    return message


@pytest.fixture(scope="module")
def migrated(services, kind) -> Installation:
    """Nothing runs yet; each test writes the ini that it wants."""
    return services(kind, 0, schema="modhub_auth")


WRONG = {
    "no secret": ({"modhub.secret": None}, ["modhub.secret", "missing"]),
    "short secret": ({"modhub.secret": "x" * 31}, ["modhub.secret", "32"]),
    "one of two short": ({"modhub.secret": "x" * 32 + "\n    short"}, ["modhub.secret", "32"]),
    "development secret in public": (
        {"modhub.secret": DEVELOPMENT, "modhub.base_url": "https://mods.example.org"},
        ["modhub.secret", "development.ini"],
    ),
    "development secret beside another": (
        {"modhub.secret": f"{'y' * 32}\n    {DEVELOPMENT}", "modhub.base_url": "https://mods.example.org"},
        ["modhub.secret"],
    ),
    "unknown key": ({"modhub.sotrage": "x"}, ["modhub.sotrage", "unknown"]),
    "unknown key of a feature": ({"modhub_auth.registraton": "true"}, ["modhub_auth.registraton", "unknown"]),
    "no boolean": ({"modhub_auth.registration": "maybe"}, ["modhub_auth.registration", "maybe"]),
    "no number": ({"modhub_auth.failures": "ten"}, ["modhub_auth.failures", "ten"]),
    "no origin": ({"modhub.base_url": "mods.example.org/x"}, ["modhub.base_url", "origin"]),
    "no store": ({"modhub.storage": "ftp://x"}, ["modhub.storage"]),
    "no such feature": ({"pyramid.includes": "modhub_nothing"}, ["modhub_nothing", "not installed"]),
    "no such driver": ({"sqlalchemy.url": "nonsense://x"}, ["sqlalchemy.url"]),
    "no database": ({"sqlalchemy.url": "sqlite:////nonexistent/x/y.sqlite"}, ["database"]),
    "no server": (
        {"sqlalchemy.url": "postgresql+psycopg://x@127.0.0.1:1/x?connect_timeout=2"},
        ["database", "127.0.0.1", "port 1", "refused"],
    ),
    "a feature twice": ({"pyramid.includes": "modhub_auth modhub_auth"}, ["modhub_auth twice"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_stops_the_start_with_one_line(migrated, name):
    """As ``pserve`` loads it, in this process: `refused` sees what comes of the exit."""
    # C-SET-2, C-SET-3, T-F11
    settings, words = WRONG[name]
    migrated.configure("modhub_auth", settings, {})
    with pytest.raises(SystemExit) as ended:
        loadapp(f"config:{migrated.ini}")
    line = one_line(str(ended.value.code), *words)
    assert DEVELOPMENT not in line
    assert "xxxxxxxx" not in line


def test_a_wrong_setting_ends_pserve_with_that_line(migrated):
    settings, words = WRONG["short secret"]
    migrated.configure("modhub_auth", settings, {})
    refused(migrated, *words)


@pytest.mark.postgres
def test_a_database_that_is_newer_is_called_so(services, kind):
    # C-RUN-3, T-F11
    service = services(kind, 0, includes="")
    assert service.admin("migrate").returncode == 0
    with closing(service.connect()) as connection:
        connection.execute("UPDATE modhub_alembic_version SET version_num = 'core_9999'")
    refused(service, "newer than this code (modhub)", "install the newer version")
    for words in (["migrate"], ["game", "list"]):
        ended = service.admin(*words)
        assert (ended.returncode, "newer" in ended.stderr, ended.stderr.count("\n")) == (1, True, 1)


@pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)
def test_an_untrusted_proxy_is_logged_once(services, kind):
    # T-F11
    """Otherwise ten wrong passwords lock out everybody behind the proxy, and the log does not say why."""
    service = services(kind)
    caller = service.caller()
    assert caller.ask("GET", "/api/modhub").status == 200
    assert "trusted_proxy" not in service.log()
    for _ in range(3):
        assert caller.ask("GET", "/api/modhub", None, {"X-Forwarded-For": "192.0.2.1"}).status == 200
    (line,) = [line for line in service.log().splitlines() if "trusted_proxy" in line]
    assert " WARNING " in line
    assert "trusted_proxy = 127.0.0.1" in line
    service.stop()


@pytest.mark.postgres
def test_a_database_that_is_behind_is_named_with_the_command(services, kind):
    # C-RUN-2, C-RUN-3
    service = services(kind, 0, includes="")
    refused(service, "behind", "modhub", "modhub-admin -c", "migrate")
    assert service.admin("migrate").returncode == 0
    service.configure("modhub_auth", {}, {})
    refused(service, "behind", "modhub_auth", "migrate")
    assert service.admin("migrate").returncode == 0
    service.start()
    assert service.stop() == [0]


def test_the_core_alone_starts_and_reads_what_a_feature_left(services, kind):
    # C-SET-2
    service = services(kind)
    own = service.register("core")
    mod = own.published("Left behind", b"content")
    service.stop()
    service.configure("", {"modhub_auth.registration": "nonsense, but of a feature that is not included"}, {})
    service.start()
    caller = service.caller()
    assert caller.need(200, "GET", "/api/modhub")["total"] == 1
    assert caller.need(200, "GET", f"/api/modhub/{mod['id']}")["title"] == "Left behind"
    assert caller.ask("GET", f"/api/modhub/{mod['id']}/download").body == b"content"
    ready = caller.need(200, "GET", "/readyz")
    assert (ready["status"], ready["database"], ready["storage"]) == ("ok", "ok", "ok")
    page = caller.ask("GET", f"/Modhub/{mod['id']}")
    assert (page.status, b"Left behind" in page.body) == (200, True)
    refusal = service.caller(own.token).ask("PUT", f"/api/modhub/{mod['id']}", {"title": "x"})
    assert (refusal.status, refusal.headers["WWW-Authenticate"][:6]) == (401, "Bearer")
    assert caller.ask("POST", "/api/auth/login", {}).status == 404
    assert caller.ask("GET", "/Modhub/mine").status == 404
    assert service.admin("verify").returncode == 0
    service.stop()
    service.configure("modhub_auth", {}, {})
    assert "up to date" in service.admin("migrate").stdout
    service.start()
    assert service.caller(own.token).need(200, "PUT", f"/api/modhub/{mod['id']}", {"title": "Back"})["title"] == "Back"
    service.stop()


@pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)
def test_environment_variables_win_over_the_ini(services, kind):
    # C-SET-1
    wrong = {
        "sqlalchemy.url": "sqlite:////nonexistent/x.sqlite",
        "modhub.secret": "short",
        "modhub.storage": "",
        "modhub_auth.registration": "true",
    }
    environ = {
        "PYRAMID_INCLUDES": "modhub_auth",
        "MODHUB_AUTH_REGISTRATION": "false",
        "MODHUB_SECRET": "s" * 32,
    }
    service = services(kind, 0, includes="", settings=wrong, environ=environ)
    service.environ |= {"SQLALCHEMY_URL": service.url, "MODHUB_STORAGE": f"file://{service.files}"}
    assert "modhub_auth" in service.admin("migrate").stdout
    service.start()
    caller = service.caller()
    registration = {"email": "a@example.org", "password": "0123456789"}
    assert caller.ask("POST", "/api/auth/register", registration).json["error"] == "registration_closed"
    assert caller.need(200, "GET", "/readyz")["storage"] == "ok"
    assert service.stop() == [0]
    refused(service, "modhub_auth.failures", MODHUB_AUTH_FAILURES="few")


@pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)
def test_storage_that_is_not_configured_has_no_retry_after(services, kind):
    service = services(kind, settings={"modhub.storage": ""})
    own = service.register("bare")
    mod = own.new_mod("Bare")
    for part in ("code", "css", "images"):
        answer = own.send_file(mod["id"], part, b"x", version="1")
        assert (answer.status, answer.json["error"]) == (503, "storage_not_configured")
        assert "Retry-After" not in answer.headers
    assert own.need(200, "GET", "/readyz")["storage"] == "not configured"
    assert own.need(200, "GET", "/api/modhub/mine")["count"] == 1
    service.stop()
