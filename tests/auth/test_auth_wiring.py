"""How accounts plug in: settings, migrations, permissions; two applications are independent."""

import re

import pytest

import modhub
from modhub.base.settings import StartRefused
from modhub_auth.container import AuthServices
from modhub_testing import TEST_SECRET

pytestmark = pytest.mark.slow


def test_settings_that_make_no_sense_stop_the_start(tmp_path):
    # C-SET-2
    settings = {"sqlalchemy.url": f"sqlite:///{tmp_path}/unused.sqlite", "modhub.secret": TEST_SECRET}
    settings["pyramid.includes"] = "modhub_auth"
    wrong = {"modhub_auth.registration": "perhaps", "modhub_auth.failures": "0", "modhub_auth.unknown": "1"}
    wrong |= {"mail.port": "99999", "mail.hots": "localhost"}
    for key, value in wrong.items():
        with pytest.raises(StartRefused, match=re.escape(key)):
            modhub.configure({**settings, key: value})


def test_two_applications_share_nothing(auth, person):
    # C-TOK-2
    app = auth()
    other = auth(modhub__secret="another secret of more than thirty-two characters")
    token = app.post_json("/api/auth/register", person).json["accessToken"]
    assert app.find_service(AuthServices) is not other.find_service(AuthServices)
    other.post_json("/api/auth/login", person, status=401)
    other.post_json("/api/auth/register", person, status=201)
    other.get("/api/auth/me", headers={"Authorization": f"Bearer {token}"}, status=401)
