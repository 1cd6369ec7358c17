"""Settings from the environment, and a mistake that ends ``pserve``.

The sentences of all mistakes: tests/core/test_start_sentences.py. Schemas: test_rolling.py; features: test_subsets.py.
"""

import pytest

from modhub_testing.service import Installation, free_port

pytestmark = pytest.mark.long


def refused(service: Installation, *words: str, **environ: str) -> None:
    """Run ``pserve``, which has to end by itself; the one line that the operator reads holds ``words``."""
    ended = service.run("pserve", str(service.ini), f"port={free_port()}", **environ)
    assert ended.returncode > 0, ended
    assert "Traceback" not in ended.stderr + ended.stdout
    # pserve itself says that it starts.
    (line,) = [line for line in ended.stderr.splitlines() if not line.startswith("Starting server")]
    assert line.startswith("modhub does not start: ")
    assert [word for word in words if word not in line] == []


@pytest.mark.parametrize("kind", ["sqlite"], scope="module", indirect=True)
def test_environment_variables_win_over_the_ini(services, kind):
    # C-SET-1, C-SET-3
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
