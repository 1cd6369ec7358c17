"""``modhub-admin account``: many at once, undone by a number; publisher keys."""

import io
import json
from datetime import timedelta

import pytest
from sqlalchemy import insert

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub_auth.models import Account
from modhub_testing.mods import insert_mods
from tests.people import make_key, register, write

pytestmark = pytest.mark.slow


def lines_of(ended):
    """What a command that succeeded has printed."""
    code, output = ended
    assert code == 0, output
    return output.splitlines()


@pytest.fixture
def spammers(app):
    """Three accounts with a published mod each, and the mods."""
    people = [register(app, f"Spam{number}") for number in range(3)]
    return [(person, person.publish()["id"]) for person in people]


def public_ids(app):
    return sorted(mod["id"] for mod in app.get("/api/modhub").json["mods"])


def test_a_spam_wave_is_blocked_hidden_and_undone(app, spammers, run, monkeypatch):
    # C-RUN-4
    (first, mod), (second, found), (_, other) = spammers
    listed = lines_of(run("account", "list", "--since", (now() - timedelta(hours=1)).isoformat(), "--ids"))
    assert listed == [str(person.id) for person, _ in spammers]
    assert run("account", "list", "--since", "2999-01-01", "--ids") == (0, "")
    run("mod", "hide", str(found), "--reason", "Found before")
    run("account", "block", str(second.id))
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(listed[:2])))
    code, output = run("account", "block", "-", "eve@example.org", "--hide-mods", "--dry-run")
    assert (code, output.splitlines()[0]) == (1, "There is no account eve@example.org.")
    assert public_ids(app) == [mod, other]
    lines = lines_of(run("account", "block", str(first.id), second.address, "--hide-mods"))
    assert lines[2] == "1 mods are now hidden."
    number = lines[-1].split()[-1]
    assert public_ids(app) == [other]
    first.call("put_json", f"/api/modhub/{mod}", params={"title": "x"}, status=403)
    undone = lines_of(run("account", "unblock", "--batch", number))
    assert undone[0].startswith(f"Account {first.id} is no longer blocked")
    assert undone[1:] == ["1 mods are hidden no longer."]
    assert public_ids(app) == [mod, other]
    assert "blocked since" in run("account", "show", str(second.id))[1], "blocked before the batch"
    with pytest.raises(StartRefused, match="no batch"):
        run("account", "unblock", "--batch", "1")
    with pytest.raises(SystemExit):
        run("account", "block")


def test_keys_are_listed_and_revoked(app, spammers, run):
    # C-RUN-4
    (owner, mod), (stranger, _), _ = spammers
    name = str(owner.id)
    assert run("account", "keys", name) == (0, f"Account {name} has no publisher keys.\n")
    key = make_key(app, owner.id, mod)
    (line,) = lines_of(run("account", "keys", name))
    number, facts = line.split(" ", 1)
    assert facts.startswith(f"CI ({key[:16]}…), mod {mod}, created 20")
    document = run("account", "keys", name, "--json")[1]
    assert json.loads(document)["modId"] == mod
    assert key.rpartition("_")[2] not in document
    for account, wrong in ((str(stranger.id), number), (name, "x")):
        with pytest.raises(StartRefused, match="has no publisher key"):
            run("account", "revoke-key", account, wrong)
    assert "would be revoked" in run("account", "revoke-key", name, number, "--dry-run")[1]
    app.post_json("/api/auth/exchange", {"key": key}, status=200)
    assert "is revoked" in run("account", "revoke-key", name, number)[1]
    app.post_json("/api/auth/exchange", {"key": key}, status=401)


@pytest.mark.postgres
def test_a_wave_of_accounts_costs_few_statements(app, run):
    # C-RUN-4
    ids = list(range(1, 121))
    write(
        app,
        insert(Account).values(
            [{"kind": "Password", "display_name": "Spam", "folded_name": "spam", "created_at": now()} for _ in ids]
        ),
    )
    insert_mods(app, [{"owner": number} for number in ids])
    names = list(map(str, ids))
    with app.counted() as few:
        run("account", "block", *names[:5], "--hide-mods")
    with app.counted() as many:
        lines = lines_of(run("account", "block", *names[5:], "--hide-mods"))
    assert lines[-2] == "115 mods are now hidden."
    with app.counted() as undone:
        assert lines_of(run("account", "unblock", "--batch", lines[-1].split()[-1]))[-1].startswith("115 mods")
    # SQLite inserts row by row where the new id is asked for.
    counts = [sum("INSERT INTO core_audit" not in str(each) for each in seen) for seen in (few, many, undone)]
    assert max(counts[1:]) < counts[0] + 30, counts
