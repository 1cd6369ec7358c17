"""While the database is away nobody is signed out, and forms come back; while passwords cannot be hashed all waits."""

import pytest
from argon2.exceptions import HashingError

from modhub.admin import health
from modhub_auth.container import AuthServices
from modhub_testing.databases import closed_database

HOME = "/Modhub/account"


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_session_survives_an_outage(auth, person):
    # C-RUN-28
    app = auth()
    form = app.get(f"{HOME}/register").forms[0]
    form["email"], form["password"] = person["email"], person["password"]
    form.submit(status=303)
    own = app.get(HOME, status=200)
    new_mod = app.get("/Modhub/mine/new", status=200)
    with closed_database(app.registry.settings["sqlalchemy.url"]):
        for address in (HOME, "/Modhub/mine", "/Modhub/mine/new"):
            answer = app.get(address, status=503)
            assert int(answer.headers["Retry-After"]) >= 1
            assert "Set-Cookie" not in answer.headers
        (form,) = (candidate for candidate in new_mod.forms.values() if candidate.action == "/Modhub/mine/new")
        form["title"] = "Kept"
        answer = form.submit(status=503)
        assert int(answer.headers["Retry-After"]) >= 1
        assert "Set-Cookie" not in answer.headers
    assert app.get(HOME, status=200).text == own.text
    form.submit(status=303)
    assert "Kept" in app.get("/Modhub/mine", status=200).text


class Broken:
    """A hasher that has no memory."""

    def hash(self, _password):
        raise HashingError


@pytest.mark.slow
def test_a_process_that_cannot_hash_is_not_ready_until_it_can(auth, monkeypatch):
    # C-RUN-8
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)
    app = auth(fresh=True)
    passwords = app.find_service(AuthServices).passwords
    with monkeypatch.context() as patch:
        patch.setattr(passwords, "_hasher", Broken())
        answer = app.get("/readyz", status=503).json
        assert (answer["status"], answer["passwords"], answer["database"]) == ("unavailable", "unreachable", "ok")
    assert app.get("/readyz", status=200).json["passwords"] == "ok"
