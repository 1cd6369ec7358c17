"""The audit trail: what is recorded, found and erased."""

import json
from contextlib import suppress
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from sqlalchemy import select, text, update

from modhub.admin.program import run_command
from modhub.audit import record
from modhub.audit.models import AuditEntry
from modhub.base.identity import account_identity
from modhub.db import now
from modhub.plugins.events import AccountDeleted
from modhub.web.request import act_for_request
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import new_mod, published_mod, upload_asset
from modhub_testing.workers import run_worker
from tests.people import read, write

pytestmark = pytest.mark.slow


@pytest.fixture
def command(site, run_admin):
    """``command("audit", "list")``: the exit code and what it printed."""
    return partial(run_admin, site)


def deeds(site):
    """Who did what to what."""
    return [
        (
            f"{entry.actor_kind} {entry.actor_id}".strip(),
            entry.action,
            f"{entry.target_kind} {entry.target_id}".strip(),
        )
        for entry in read(site, select(AuditEntry).order_by(AuditEntry.id))
    ]


def personal_parts(site):
    """The actor, the address and the name of each entry that has one of these."""
    return [
        (f"{entry.actor_kind} {entry.actor_id}".strip(), entry.address, entry.name)
        for entry in read(site, select(AuditEntry).order_by(AuditEntry.id))
        if (entry.address, entry.name) != (None, None)
    ]


@pytest.mark.postgres
def test_only_what_is_committed_is_logged(site, caplog):
    # C-AUD-1
    caplog.set_level("INFO", "modhub.security")
    mod = published_mod(site)
    caplog.clear()
    upload_asset(site, mod, "code", version="1", name="x.zip", status=409)
    with suppress(KeyError), site.databases.write_session.begin() as session:
        record(session, "rolled back", "mod", 1)
        session.flush()
        raise KeyError
    with site.databases.write_session() as session:
        record(session, "rolled back", "mod", 2)
        session.rollback()
        record(session, "committed", "mod", 3)
        with session.begin_nested():
            record(session, "committed", "mod", 4)
        session.flush()
        assert not caplog.messages
        session.commit()
        session.commit()
    assert [json.loads(line) for line in caplog.messages] == [{"event": "committed", "mod": mod} for mod in (3, 4)]


def test_deeds_of_keys_and_operators_are_recorded(start, monkeypatch):
    # C-AUD-1
    monkeypatch.setenv("SUDO_USER", "grace")
    monkeypatch.setenv("SSH_CONNECTION", "2001:db8::7 5000 192.0.2.1 22")
    key = "k" * 40
    site = start(
        f"{TEST_ACCOUNTS} modhub_builds modhub_wiki",
        ApiPrivateKeys=f"{key} Modhub:app Modhub:wiki",
        modhub__storage_address_key="address-key",
    )
    agent = {"X-Api-Key": key}
    site.post("/api/modhub/app/linux?version=1", b"build", headers=agent, status=201)
    site.post("/api/modhub/app/changelog", "News", headers=agent, content_type="text/plain", status=201)
    site.delete("/api/modhub/app/changelog", headers=agent)
    site.put("/Modhub/api/wiki/start", "# Start", headers=agent, status=201)
    site.delete("/Modhub/api/wiki/start", headers=agent, status=204)
    report = {"baseUrl": "https://files.example.org"}
    for _ in range(2):
        site.post_json("/api/modhub/storage/address", report, headers={"X-Api-Key": "address-key"})
    mod = published_mod(site)
    run_command(site.config, ["-c", "x.ini", "mod", "hide", str(mod["id"]), "--reason", "Malware"])
    recorded = deeds(site)
    (agent_actor,) = {actor for actor, action, _ in recorded if action.startswith(("build", "page", "changelog"))}
    assert agent_actor.startswith("key ")
    assert key not in agent_actor
    assert [(action, target.partition(" ")[0]) for actor, action, target in recorded if actor == agent_actor] == [
        ("build uploaded", "build"),
        ("changelog section added", "section"),
        ("changelog section withdrawn", "section"),
        ("page published", "page"),
        ("page deleted", "page"),
    ]
    assert recorded.count(("key storage address", "storage address reported", "storage https://files.example.org")) == 1
    assert recorded[-1] == ("operator", "mod hidden", f"mod {mod['id']}")
    assert {part for part in personal_parts(site) if part[2]} == {("operator", "2001:db8::7", "grace")}


def fill(site, count=5):
    """Entries of account 7, each with a personal part."""
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    for _ in range(count):
        new_mod(site)


@pytest.mark.postgres
def test_what_is_personal_is_erased_after_days(site):
    # C-AUD-3
    fill(site)
    ids = select(AuditEntry.id).order_by(AuditEntry.id).limit(3)
    write(site, update(AuditEntry).where(AuditEntry.id.in_(ids)).values(at=now() - timedelta(days=91)))
    before = deeds(site)
    assert run_worker(site.registry, "old audit entries")
    assert personal_parts(site) == [("account 7", "192.0.2.7", None)] * 2
    assert deeds(site) == before


@pytest.mark.postgres
def test_a_deleted_account_leaves_nothing_personal(site):
    # C-AUD-3
    fill(site, 2)
    new_mod(site, owner=8)
    request = SimpleNamespace(caller=account_identity(7), environ={"REMOTE_ADDR": "192.0.2.7"})
    with site.databases.write_session.begin() as session:
        act_for_request(session, request)
        record(session, "account deleted", "account", 7)
        site.registry.notify(AccountDeleted(7, session, site.registry))
    assert personal_parts(site) == [("account 8", "192.0.2.7", None)]
    assert deeds(site)[-1] == ("account 7", "mods deleted with their account", "account 7")


@pytest.mark.postgres
def test_nobody_waits_for_a_writer(site, dialect):
    # C-AUD-1
    if dialect == "sqlite":
        pytest.skip("one writer at a time, whatever it writes")
    databases = site.databases
    with databases.write_session() as slow:
        record(slow, "slow deed", "thing", 1)
        slow.flush()
        with databases.write_session.begin() as session:
            session.execute(text("SET LOCAL lock_timeout = '1ms'"))
            record(session, "fast deed", "thing", 2)
        assert [action for _, action, _ in deeds(site)] == ["fast deed"]
        assert run_worker(site.registry, "old audit entries")
        slow.commit()
    assert [action for _, action, _ in deeds(site)] == ["slow deed", "fast deed"]


def test_all_entries_are_exported(site, command):
    # C-AUD-1
    with site.databases.write_session.begin() as session:
        for number in range(1201):
            record(session, "many deeds", "thing", number)
    lines = [json.loads(line) for line in command("audit", "export")[1].splitlines()]
    assert [line["target"]["id"] for line in lines] == [str(number) for number in range(1201)]


@pytest.mark.postgres
def test_the_list_finds_entries(site, command, monkeypatch):
    # C-AUD-1
    monkeypatch.setenv("SUDO_USER", "grace")
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    mod = published_mod(site)
    new_mod(site, owner=8)
    command("mod", "hide", str(mod["id"]))

    def listed(*options):
        code, output = command("audit", "list", "--json", *options)
        assert code == 0
        return [json.loads(line) for line in output.splitlines()]

    everything = listed()
    assert [entry["action"] for entry in everything] == [action for _, action, _ in deeds(site)][::-1]
    newest, oldest = everything[0], everything[-1]
    assert (oldest["details"], len(oldest["requestId"])) == ({"guid": mod["guid"]}, 16)
    assert newest["actor"] == {"kind": "operator", "id": ""}
    assert newest["target"] == {"kind": "mod", "id": str(mod["id"])}
    assert (newest["name"], newest["details"]["owner"]) == ("grace", 7)
    assert [entry["action"] for entry in listed("--actor", "account 8")] == ["mod created"]
    assert [entry["action"] for entry in listed("--actor", "operator")] == ["mod hidden"]
    assert len(listed("--target", f"mod {mod['id']}")) == len(everything) - 1
    assert [entry["action"] for entry in listed("--action", "mod published")] == ["mod published"]
    assert listed("--since", "2999-01-01") == []
    assert len(listed("--since", "2020-01-01T00:00Z", "--limit", "2")) == 2
    output = command("audit", "list", "--action", "file uploaded")[1]
    assert f"account 7 (192.0.2.7): file uploaded: mod {mod['id']}, kind code" in output
    assert command("audit", "list", "--actor", "key none") == (0, "No matching entries.\n")


def test_lines_have_no_control_characters(site, command):
    with site.databases.write_session.begin() as session:
        record(session, "deed", "thing", "\x1b[31mred\x9b\n2 lies", version="ü\u202e")
    output = command("audit", "list")[1]
    assert output.count("\n") == 1
    assert output.rstrip("\n").isprintable()
