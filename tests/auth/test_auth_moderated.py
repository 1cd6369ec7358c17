"""What moderators decide about accounts: blocking, and the name."""

import pytest
from sqlalchemy import update

from modhub.catalogue.owning import views
from modhub.db import now
from modhub.plugins.moderation import IModeration
from modhub_auth.blocking import block_accounts, find_blocked, unblock_accounts
from modhub_auth.models import Account
from modhub_auth.services import lock_account
from modhub_testing.mods import hide_mod, restore_mod
from tests.people import register, write

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

ABSENT = 987654321


@pytest.fixture
def ada(app):
    person = register(app, "Ada")
    write(app, update(Account).values(display_name="Cheap coins", folded_name="cheap coins"))
    return person


def change(app, account_id, act):
    """Do it with the account, and return which accounts are blocked then."""
    with app.databases.write_session.begin() as session:
        act(session, [lock_account(session, account_id)])
        return find_blocked(session, [account_id, ABSENT])


def test_mods_hidden_together_come_back_without_those_dealt_with_since(app, ada):
    mods, at = [ada.publish()["id"] for _ in range(3)], now()
    hide_mod(app, {"id": mods[0]})
    moderation = app.find_service(IModeration)
    with app.databases.write_session.begin() as session:
        hidden = moderation.hide_of_accounts(session, [ada.id], at)
    assert sorted(hidden) == mods[1:]
    # Dealt with on its own since.
    restore_mod(app, {"id": mods[1]})
    hide_mod(app, {"id": mods[1]}, "Malware")
    with app.databases.write_session.begin() as session:
        assert moderation.release(session, hidden, {at}) == [mods[2]]
    assert [mod["id"] for mod in app.get("/api/modhub").json["mods"]] == [mods[2]]


def test_what_was_allowed_before_the_block_is_not_stored_after_it(app, ada, monkeypatch):
    # C-OWN-13
    mod, received = ada.publish(), views.receive_upload

    def receive_and_block(request, *sizes):
        """The file takes its time; meanwhile a moderator decides."""
        upload = received(request, *sizes)
        change(app, ada.id, block_accounts)
        return upload

    monkeypatch.setattr(views, "receive_upload", receive_and_block)
    for address in ("code?version=2", "css", "images"):
        refused = app.post(f"/api/modhub/{mod['id']}/{address}", b"late", headers=ada.bearer, status=403)
        assert refused.json["error"] == "account_blocked"
        change(app, ada.id, unblock_accounts)
    shown = app.get(f"/api/modhub/{mod['id']}").json
    assert (shown["version"], len(shown["assets"])) == ("1", 1)


def test_a_name_goes_and_comes_back(app, ada):
    # C-CAS-5
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
