"""What moderators decide about accounts: blocking with or without mods, and the name."""

from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import update

from modhub.catalogue.owning import views
from modhub.plugins.moderation import IAccountBlocking, IModeration
from modhub_auth.models import Account
from modhub_testing.mods import hide_mod
from tests.people import Person, register, write

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

ABSENT = 987654321


@pytest.fixture
def ada(app: Any) -> Person:
    person = register(app, "Ada")
    write(app, update(Account).values(display_name="Cheap coins", folded_name="cheap coins"))
    return person


@contextmanager
def blocking(app: Any) -> Any:
    with app.databases.write_session.begin() as session:
        yield app.find_service(IAccountBlocking), session


def test_an_account_is_blocked_and_unblocked_with_its_mods(app: Any, ada: Person) -> None:
    # C-ACC-20
    account, mods = ada.id, [ada.publish() for _ in range(3)]
    hide_mod(app, mods[0])
    with blocking(app) as (service, session):
        outcome = service.block(session, account, "Spam", hide_mods=True)
    assert (outcome.is_new, sorted(outcome.mods)) == (True, [mod["id"] for mod in mods[1:]])
    assert app.get("/api/modhub").json["total"] == 0
    app.put_json(f"/api/modhub/{mods[1]['id']}", {"title": "x"}, headers=ada.bearer, status=403)
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
    app.put_json(f"/api/modhub/{mods[1]['id']}", {"title": "x"}, headers=ada.bearer, status=200)


def test_what_was_allowed_before_the_block_is_not_stored_after_it(
    app: Any, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-QUE-8
    mod, received = ada.publish(), views.receive_upload

    def receive_and_block(request: Any, *sizes: int) -> Any:
        """The file takes its time; meanwhile a moderator decides."""
        upload = received(request, *sizes)
        with blocking(app) as (service, session):
            service.block(session, ada.id, "Malware", hide_mods=False)
        return upload

    monkeypatch.setattr(views, "receive_upload", receive_and_block)
    for address in ("code?version=2", "css", "images"):
        refused = app.post(f"/api/modhub/{mod['id']}/{address}", b"late", headers=ada.bearer, status=403)
        assert refused.json["error"] == "account_blocked"
        with blocking(app) as (service, session):
            service.unblock(session, ada.id)
    shown = app.get(f"/api/modhub/{mod['id']}").json
    assert (shown["version"], len(shown["assets"])) == ("1", 1)


def test_a_name_goes_and_comes_back(app: Any, ada: Person) -> None:
    # C-QUE-7
    ada.publish()
    part = app.find_service(IModeration).parts["author_name"]
    with app.databases.write_session.begin() as session:
        kept = part.remove(session, ada.id, "")
        assert part.remove(session, ada.id, "") is None
        assert part.remove(session, ABSENT, "") is None
    assert f"Modder {ada.id}" in app.get(f"/Modhub/by/{ada.id}").text
    assert ada.call("get", "/api/auth/me").json["displayName"] == f"Modder {ada.id}"
    with app.databases.write_session.begin() as session:
        assert part.restore(session, ada.id, "", kept)
        assert not part.restore(session, ABSENT, "", kept)
    assert "Cheap coins" in app.get(f"/Modhub/by/{ada.id}").text
