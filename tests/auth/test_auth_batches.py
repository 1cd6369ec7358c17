"""``modhub-admin account``: many at once, undone by a number; publisher keys."""

import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub_auth import publisher_keys
from modhub_auth.models import Account, Login
from modhub_auth.services import lock_account
from modhub_testing import Site
from modhub_testing.mods import insert_mods

pytestmark = pytest.mark.slow

Person = dict[str, str]
Run = Callable[..., tuple[int, str]]


def lines_of(ended: tuple[int, str]) -> list[str]:
    """What a command that succeeded has printed."""
    code, output = ended
    assert code == 0, output
    return output.splitlines()


@pytest.fixture
def spammers(app: Any, person: Person) -> list[dict[str, Any]]:
    """Three accounts with a published mod each."""
    made = []
    for number in range(3):
        session = app.post_json("/api/auth/register", {**person, "email": f"spam{number}@example.org"}).json
        headers = {"Authorization": f"Bearer {session['accessToken']}"}
        mod = app.post_json("/api/modhub", {"title": f"Spam {number}"}, headers=headers).json
        app.post(f"/api/modhub/{mod['id']}/code?version=1&name=a.zip", b"code", headers=headers)
        app.post(f"/api/modhub/{mod['id']}/publish", headers=headers)
        made.append({"id": session["accountId"], "mod": mod["id"], "headers": headers})
    return made


def public_ids(app: Site) -> list[int]:
    return sorted(mod["id"] for mod in app.get("/api/modhub").json["mods"])


def test_a_spam_wave_is_blocked_hidden_and_undone(
    app: Any, person: Person, spammers: Any, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-RUN-47
    first, second, third = spammers
    listed = lines_of(run("account", "list", "--since", (now() - timedelta(hours=1)).isoformat(), "--ids"))
    assert listed == [str(spammer["id"]) for spammer in spammers]
    assert run("account", "list", "--since", "2999-01-01", "--ids") == (0, "")
    run("mod", "hide", str(second["mod"]), "--reason", "Found before")
    run("account", "block", str(second["id"]))
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(listed[:2])))
    code, output = run("account", "block", "-", "eve@example.org", "--hide-mods", "--dry-run")
    assert (code, output.splitlines()[0]) == (1, "There is no account eve@example.org.")
    assert len(public_ids(app)) == 2
    lines = lines_of(run("account", "block", str(first["id"]), "spam1@example.org", "--hide-mods"))
    assert lines[2] == "1 mods are now hidden."
    number = lines[-1].split()[-1]
    assert public_ids(app) == [third["mod"]]
    app.put_json(f"/api/modhub/{first['mod']}", {"title": "x"}, headers=first["headers"], status=403)
    undone = lines_of(run("account", "unblock", "--batch", number))
    assert undone[0].startswith(f"Account {first['id']} is no longer blocked")
    assert undone[1:] == ["1 mods are hidden no longer."]
    assert public_ids(app) == [first["mod"], third["mod"]]
    assert "blocked since" in run("account", "show", str(second["id"]))[1], "blocked before the batch"
    with pytest.raises(StartRefused, match="no batch"):
        run("account", "unblock", "--batch", "1")
    with pytest.raises(SystemExit):
        run("account", "block")


def test_keys_are_listed_and_revoked(app: Any, spammers: Any, run: Run) -> None:
    # C-RUN-48
    owner, stranger, _ = spammers
    name = str(owner["id"])
    assert run("account", "keys", name) == (0, f"Account {name} has no publisher keys.\n")
    with app.databases.write_session.begin() as session:
        assert lock_account(session, owner["id"]) is not None
        key = publisher_keys.create_key(session, owner["id"], "CI", owner["mod"], 0).key
    token = app.post_json("/api/auth/exchange", {"key": key}).json["accessToken"]
    (line,) = lines_of(run("account", "keys", name))
    number, facts = line.split(" ", 1)
    assert facts.startswith(f"CI ({key[:16]}…), mod {owner['mod']}, created 20")
    assert facts.endswith(", expires never")
    document = json.loads(run("account", "keys", name, "--json")[1])
    assert (document["id"], document["modId"], document["expiresAt"]) == (int(number), owner["mod"], None)
    assert key.rpartition("_")[2] not in json.dumps(document)
    for account, wrong in ((str(stranger["id"]), number), (name, "999"), (name, "x")):
        with pytest.raises(StartRefused, match="has no publisher key"):
            run("account", "revoke-key", account, wrong)
    assert "would be revoked" in run("account", "revoke-key", name, number, "--dry-run")[1]
    app.get("/api/modhub/mine", headers={"Authorization": f"Bearer {token}"}, status=200)
    assert "is revoked" in run("account", "revoke-key", name, number)[1]
    app.get("/api/modhub/mine", headers={"Authorization": f"Bearer {token}"}, status=401)
    app.post_json("/api/auth/exchange", {"key": key}, status=401)


@pytest.mark.slow
@pytest.mark.postgres
def test_a_wave_of_accounts_costs_few_statements(app: Any, run: Run) -> None:
    # C-RUN-47
    with app.databases.write_session.begin() as session:
        accounts = [Account(kind="Password", display_name="Spam", created_at=now()) for _ in range(120)]
        session.add_all(accounts)
        session.flush()
        ids = [account.id for account in accounts]
        session.add_all(
            Login(account_id=number, kind="Password", subject=f"s{number}@example.org", created_at=now())
            for number in ids
        )
    insert_mods(app, [{"owner": number} for number in ids])
    names = [str(number) if number % 2 else f"s{number}@example.org" for number in ids]
    with app.counted() as few:
        run("account", "block", *names[:5], "--hide-mods")
    with app.counted() as many:
        lines = lines_of(run("account", "block", *names[5:], "--hide-mods"))
    assert lines[-2] == "115 mods are now hidden."
    with app.counted() as undone:
        undo_lines = lines_of(run("account", "unblock", "--batch", lines[-1].split()[-1]))
    assert undo_lines[-1] == "115 mods are hidden no longer."
    # SQLite inserts row by row where the new id is asked for.
    counts = [sum("INSERT INTO core_audit" not in str(each) for each in seen) for seen in (few, many, undone)]
    assert max(counts[1:]) < counts[0] + 30, counts
