"""``/readyz`` says whether the process can hash passwords."""

import pytest
from argon2.exceptions import HashingError

from modhub.admin import health
from modhub_auth.container import AuthServices

pytestmark = pytest.mark.slow


class Broken:
    """A hasher that has no memory."""

    def hash(self, _password):
        raise HashingError


def test_a_process_that_cannot_hash_is_not_ready_until_it_can(auth, person, monkeypatch):
    # C-RUN-8
    monkeypatch.setattr(health, "CACHE_SECONDS", 0.0)
    app = auth(fresh=True)
    passwords = app.find_service(AuthServices).passwords
    with monkeypatch.context() as patch:
        patch.setattr(passwords, "_hasher", Broken())
        answer = app.get("/readyz", status=503).json
        assert (answer["status"], answer["passwords"], answer["database"]) == ("unavailable", "unreachable", "ok")
        refusal = app.post_json("/api/auth/register", person, status=503)
        assert (refusal.json["error"], "Retry-After" in refusal.headers) == ("busy", True)
    assert app.get("/readyz", status=200).json["passwords"] == "ok"
    app.post_json("/api/auth/register", person, status=201)
