"""Publisher keys: what their sessions may do, and when they end."""

from datetime import timedelta

import pytest
from sqlalchemy import select, update

from modhub.audit.models import AuditEntry
from modhub.db import now
from modhub_auth import publisher_keys
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import Login, PublisherKey
from modhub_testing.pages import messages_on
from tests.people import block, make_key, read, write
from tests.people import register as register_person

from .conftest import bearer, confirm, log_in, register, seen

pytestmark = pytest.mark.slow


def exchange(app, key, status=200):
    return app.post_json("/api/auth/exchange", {"key": key}, status=status)


def session_of(app, key):
    return bearer(exchange(app, key).json)


def set_key(app, **values):
    write(app, update(PublisherKey).values(values))


@pytest.fixture
def ada(app):
    return register_person(app, "Ada")


@pytest.fixture
def first(ada):
    return ada.draft("One")


@pytest.fixture
def second(ada):
    return ada.draft("Two")


def test_a_key_is_exchanged_for_a_session_without_refresh(app, ada):
    # C-TOK-5, C-TOK-7
    key = make_key(app, ada.id)
    answer = exchange(app, key)
    assert (answer.json["expiresInSeconds"], answer.headers["Cache-Control"]) == (1800, "no-store")
    set_key(app, expires_at=None)
    assert exchange(app, key).json["expiresInSeconds"] == 1800
    [stored], subjects = read(app, select(PublisherKey)), read(app, select(Login.subject))
    assert stored.used_at is not None
    assert key.rpartition("_")[2] not in stored.key_hash + "".join(subjects)


@pytest.mark.postgres
def test_unknown_revoked_and_expired_keys_look_the_same(app, ada):
    # C-TOK-5, C-TOK-7
    key = make_key(app, ada.id)
    token = session_of(app, key)
    set_key(app, expires_at=now() - timedelta(seconds=1))
    expired, unknown = exchange(app, key, 401), exchange(app, "mhk_" + "0" * 12 + "_" + "0" * 64, 401)
    app.get("/api/modhub/mine", headers=token, status=401)
    set_key(app, expires_at=now() + timedelta(days=1))
    app.get("/api/modhub/mine", headers=token)
    with app.databases.write_session.begin() as session:
        login_id = session.scalars(select(PublisherKey.login_id)).one()
        assert not publisher_keys.revoke_key(session, ada.id + 1, login_id)
        assert publisher_keys.revoke_key(session, ada.id, login_id)
    app.get("/api/modhub/mine", headers=token, status=401)
    revoked = exchange(app, key, 401)
    assert seen(unknown) == seen(expired) == seen(revoked)
    assert unknown.json["error"] == "invalid_key"


def test_the_key_of_a_deleted_mod_looks_revoked(app, ada, first, second):
    # C-TOK-5
    keys = [make_key(app, ada.id, mod["id"]) for mod in (first, second)]
    ada.call("delete", f"/api/modhub/{first['id']}", status=204)
    assert seen(exchange(app, keys[0], 401)) == seen(exchange(app, "mhk_unknown", 401))
    exchange(app, keys[1])


def test_failures_are_those_of_the_caller(auth):
    # C-TOK-5, C-LIM-1
    app = auth(modhub_auth__failures="2")
    key = make_key(app, register_person(app, "Ada").id)
    for _ in range(2):
        exchange(app, "no key", 401)
    assert exchange(app, "no key", 429).json["error"] == "too_many_attempts"
    exchange(app, key, 200)
    app.post_json("/api/auth/login", {"email": "a@example.org", "password": "a wrong password"}, status=429)


def test_a_key_for_one_mod_reaches_that_mod_alone(app, ada, first, second):
    # C-TOK-6
    own = f"/api/modhub/{first['id']}"
    token = session_of(app, make_key(app, ada.id, first["id"]))
    app.put_json(own, {"title": "Renamed"}, headers=token)
    app.post(f"{own}/code?version=1", b"code", headers=token, status=201)
    app.post(f"{own}/publish", headers=token)
    assert [mod["title"] for mod in app.get("/api/modhub/mine", headers=token).json["mods"]] == ["Renamed"]
    for path in (f"/api/modhub/{second['id']}", "/api/modhub/987654321"):
        refused = [
            app.request(f"{path}{rest}", method=method, body=body, headers=token, status=401)
            for method, rest, body in (
                ("PUT", "", b'{"title": "X"}'),
                ("PUT", "/order", b'{"assetIds": []}'),
                ("GET", "/files", b""),
                ("POST", "/code?version=1", b"code"),
                ("POST", "/rehearsal", b""),
                ("DELETE", "", b""),
            )
        ]
        assert len({str(seen(answer)) for answer in refused}) == 1
    assert app.post_json("/api/modhub", {"title": "New"}, headers=token, status=401).json["error"] == "unauthorized"


def test_a_key_for_all_mods_creates_and_no_key_deletes(app, ada, first):
    # C-TOK-6; what it may not: modhub-verify.
    token = session_of(app, make_key(app, ada.id))
    for key in (session_of(app, make_key(app, ada.id, first["id"])), token):
        refused = app.delete(f"/api/modhub/{first['id']}", headers=key, status=401)
        assert seen(refused) == seen(app.delete("/api/modhub/987654321", headers=key, status=401))
    app.post_json("/api/modhub", {"title": "Three"}, headers=token, status=201)
    assert app.get("/api/modhub/mine", headers=token).json["count"] == 2


PAGE = "/Modhub/account/publisher-key"


def fill(app, person, **fields):
    form = app.get(PAGE).forms[0]
    form["currentPassword"] = person["password"]
    for name, value in fields.items():
        form[name].force_value(value)
    return form.submit(expect_errors=True)


def test_the_page_shows_a_key_once_and_revokes_it(app, person, mail):
    # C-TOK-7, T-C18
    register(app, person)
    confirm(app)
    shown = fill(app, person, label="Release job", mod="", days="")
    key = shown.html.select_one("#publisher-key").text
    assert mail.read()[-1]["Subject"] == EMAIL_TEMPLATES["key created"].subject
    [expires_at] = read(app, select(PublisherKey.expires_at))
    assert timedelta(days=364) < expires_at - now() < timedelta(days=366)
    exchange(app, key)
    account_page = app.get("/Modhub/account")
    listed = account_page.html.select_one("#publisher-keys")
    assert f"Release job ({key[:16]}…)" in listed.text
    assert listed.find_all("time")[-1].text == f"{expires_at.day} {expires_at:%B %Y}"  # not "just now"
    assert key not in account_page.text
    assert "Release job" not in account_page.html.select_one("#logins").text
    revoke = next(form for form in account_page.forms.values() if form.action.endswith("/revoke-key"))
    assert "revoked" in messages_on(revoke.submit().follow())
    assert {"publisher key created", "publisher key revoked"} <= set(read(app, select(AuditEntry.action)))  # C-AUD-1
    exchange(app, key, 401)


def test_the_form_takes_only_mods_of_the_account(app, person):
    # C-TOK-6
    register(app, person)
    hers = register_person(app, "Grace").draft("Hers")
    login = log_in(app, person)
    mine = app.post_json("/api/modhub", {"title": "Mine"}, headers=bearer(login)).json
    for typed in (str(hers["id"]), hers["guid"], "987654321", "nonsense"):
        refused = fill(app, person, label="CI", mod=typed)
        assert refused.status_int == 400
        # Sent again it is refused again: "All your mods" would be more than was chosen.
        assert refused.html.select_one("#mod option[selected]")["value"] == typed
    # A draft, too; nothing of others is in the list.
    choices = [(option["value"], option.text) for option in app.get(PAGE).html.select("#mod option")]
    assert choices == [("", "All your mods"), (str(mine["id"]), "Mine")]
    assert fill(app, person, label="CI", mod=str(mine["id"])).status_int == 200
    assert read(app, select(PublisherKey.mod_id)) == [mine["id"]]
    for wrong in ({"label": " "}, {"label": "CI", "days": "3651"}, {"label": "CI", "days": "-1"}):
        assert fill(app, person, **wrong).status_int == 400


def test_another_draft_of_the_account_is_as_an_unknown_mod_to_the_key(app, ada, first, second):
    # C-OWN-12, C-OWN-40, C-OWN-41, C-TOK-6
    own = f"/api/modhub/{first['id']}"
    one_mod, all_mods = (session_of(app, make_key(app, ada.id, mod_id)) for mod_id in (first["id"], None))
    superseded = f"{own}/superseded", {"by": second["url"]}
    refused = app.put_json(*superseded, headers=one_mod, status=400)
    assert seen(refused) == seen(app.put_json(superseded[0], {"by": "/Modhub/99"}, headers=one_mod, status=400))
    app.put_json(*superseded, headers=all_mods)
    ada.call("put_json", own, params={"requires": [second["guid"]]})
    assert app.post(f"{own}/rehearsal", headers=all_mods).json["missing"] == []
    assert second["guid"] in str(app.post(f"{own}/rehearsal", headers=one_mod).json["missing"])


def test_a_blocked_account_publishes_nothing(app, ada, first):
    # C-TOK-5
    key = make_key(app, ada.id)
    token = session_of(app, key)
    block(app, ada.id)
    assert exchange(app, key, 403).json["error"] == "account_blocked"
    app.put_json(f"/api/modhub/{first['id']}", {"title": "X"}, headers=token, status=403)
