"""What moderators decide about accounts: blocking with or without mods, and the name."""

from contextlib import contextmanager
from typing import Any

import pytest

from modhub.catalogue.owning import views
from modhub.plugins.moderation import IAccountBlocking, IModeration
from modhub_testing.mods import hide_mod

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

ABSENT = 987654321


@pytest.fixture
def ada(app: Any, person: dict[str, str]) -> Any:
    """The session of a program that has signed in."""
    return app.post_json("/api/auth/register", {**person, "displayName": "Cheap coins"}).json


def bearer(made: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {made['accessToken']}"}


def add_mod(app: Any, made: Any) -> Any:
    mod = app.post_json("/api/modhub", {"title": "A mod"}, headers=bearer(made)).json
    app.post(f"/api/modhub/{mod['id']}/code?version=1", b"code", headers=bearer(made))
    return app.post(f"/api/modhub/{mod['id']}/publish", headers=bearer(made)).json


@contextmanager
def blocking(app: Any) -> Any:
    with app.databases.write_session.begin() as session:
        yield app.find_service(IAccountBlocking), session


def test_an_account_is_blocked_and_unblocked_with_its_mods(app: Any, ada: Any) -> None:
    # C-ACC-20
    account, mods = ada["accountId"], [add_mod(app, ada) for _ in range(3)]
    hide_mod(app, mods[0])
    with blocking(app) as (service, session):
        outcome = service.block(session, account, "Spam", hide_mods=True)
    assert (outcome.is_new, sorted(outcome.mods)) == (True, [mod["id"] for mod in mods[1:]])
    assert app.get("/api/modhub").json["total"] == 0
    app.put_json(f"/api/modhub/{mods[1]['id']}", {"title": "x"}, headers=bearer(ada), status=403)
    with blocking(app) as (service, session):
        assert list(service.get_blocked(session, [account, ABSENT])) == [account]
        again = service.block(session, account, "Spam", hide_mods=True)
        assert (again.is_new, again.mods) == (False, [])
        # Dealt with on its own since: unblocking leaves it alone.
        app.find_service(IModeration).release(session, [mods[1]["id"]])
        app.find_service(IModeration).hide(session, [mods[1]["id"]], "Malware")
    with blocking(app) as (service, session):
        assert service.unblock(session, account, outcome.mods, outcome.at) == [mods[2]["id"]]
        assert service.get_blocked(session, [account]) == {}
    assert [mod["id"] for mod in app.get("/api/modhub").json["mods"]] == [mods[2]["id"]]
    app.put_json(f"/api/modhub/{mods[1]['id']}", {"title": "x"}, headers=bearer(ada), status=200)


def test_mods_stay_unless_they_are_hidden_too(app: Any, ada: Any) -> None:
    add_mod(app, ada)
    with blocking(app) as (service, session):
        assert service.block(session, ada["accountId"], "", hide_mods=False).mods == []
        assert service.block(session, ABSENT, "", hide_mods=True) is None
        assert service.unblock(session, ABSENT) is None
    assert app.get("/api/modhub").json["total"] == 1
    with blocking(app) as (service, session):
        assert service.unblock(session, ada["accountId"]) == []


def test_what_was_allowed_before_the_block_is_not_stored_after_it(
    app: Any, ada: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-QUE-8
    mod, received = add_mod(app, ada), views.receive_upload

    def receive_and_block(request: Any, *sizes: int) -> Any:
        """The file takes its time; meanwhile a moderator decides."""
        upload = received(request, *sizes)
        with blocking(app) as (service, session):
            service.block(session, ada["accountId"], "Malware", hide_mods=False)
        return upload

    monkeypatch.setattr(views, "receive_upload", receive_and_block)
    for address in ("code?version=2", "css", "images"):
        refused = app.post(f"/api/modhub/{mod['id']}/{address}", b"late", headers=bearer(ada), status=403)
        assert refused.json["error"] == "account_blocked"
        with blocking(app) as (service, session):
            service.unblock(session, ada["accountId"])
    shown = app.get(f"/api/modhub/{mod['id']}").json
    assert (shown["version"], len(shown["assets"])) == ("1", 1)


def test_a_name_goes_and_comes_back(app: Any, ada: Any) -> None:
    # C-QUE-7
    account = ada["accountId"]
    add_mod(app, ada)
    part = app.find_service(IModeration).parts["author_name"]
    assert part.target == "account"
    with app.databases.write_session.begin() as session:
        kept = part.remove(session, account, "")
        assert part.remove(session, account, "") is None
        assert part.remove(session, ABSENT, "") is None
    assert "Cheap coins" not in app.get(f"/Modhub/by/{account}").text
    assert f"Modder {account}" in app.get(f"/Modhub/by/{account}").text
    assert app.get("/api/auth/me", headers=bearer(ada)).json["displayName"] == f"Modder {account}"
    with app.databases.write_session.begin() as session:
        assert part.restore(session, account, "", kept)
        assert not part.restore(session, ABSENT, "", kept)
    assert "Cheap coins" in app.get(f"/Modhub/by/{account}").text
