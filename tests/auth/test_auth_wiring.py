"""How accounts plug in: settings, migrations, permissions; two applications are independent."""

from pathlib import Path
from typing import Any

import pytest

import modhub
from modhub.admin import migrate
from modhub.base.settings import StartRefused
from modhub_auth.container import AuthServices
from modhub_testing import TEST_SECRET

pytestmark = pytest.mark.slow


def test_models_and_migrations_agree(app: Any) -> None:
    packages = {package.package: package for package in app.declarations.migrations}
    assert migrate.schema_differences(app.databases, packages["modhub_auth"]) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("modhub_auth.registration", "perhaps"),
        ("modhub_auth.failures", "0"),
        ("modhub_auth.window_seconds", "-5"),
        ("modhub_auth.unknown", "1"),
        ("mail.port", "99999"),
        ("mail.hots", "localhost"),
    ],
)
def test_settings_that_make_no_sense_stop_the_start(tmp_path: Path, key: str, value: str) -> None:
    # C-SET-2
    url = f"sqlite:///{tmp_path}/unused.sqlite"
    settings = {"sqlalchemy.url": url, "modhub.secret": TEST_SECRET, "pyramid.includes": "modhub_auth", key: value}
    with pytest.raises(StartRefused, match=key.replace(".", "\\.")):
        modhub.configure(settings)


def test_two_applications_share_nothing(auth: Any, person: dict[str, str]) -> None:
    # C-TOK-2
    app = auth()
    other = auth(modhub__secret="another secret of more than thirty-two characters")
    token = app.post_json("/api/auth/register", person).json["accessToken"]
    assert app.find_service(AuthServices) is not other.find_service(AuthServices)
    other.post_json("/api/auth/login", person, status=401)
    other.post_json("/api/auth/register", person, status=201)
    other.get("/api/auth/me", headers={"Authorization": f"Bearer {token}"}, status=401)


def test_a_secret_can_be_replaced(auth: Any, person: dict[str, str]) -> None:
    # C-TOK-4, T-F11
    app = auth()
    token = app.post_json("/api/auth/register", person).json["accessToken"]
    url = str(app.registry.settings["sqlalchemy.url"])
    newer = auth(url=url, modhub__secret=f"the newest secret of this deployment, long\n{TEST_SECRET}")
    newer.get("/api/auth/me", headers={"Authorization": f"Bearer {token}"}, status=200)
