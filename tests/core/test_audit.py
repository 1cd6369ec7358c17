"""The audit trail: what is recorded, and that tampering is found."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, text, update
from transaction.interfaces import TransientError

from modhub.admin.backup.manifest import read_manifest
from modhub.admin.backup.tables import read_rows
from modhub.admin.program import run_command
from modhub.audit import act_for_request, hashing, record, sealing
from modhub.audit.hashing import EntryMac
from modhub.audit.models import AuditEntry, AuditHead, PersonalPart
from modhub.audit.sealing import erase_expired, seal_entries
from modhub.base.identity import account_identity
from modhub.catalogue.models import Asset
from modhub.db import now
from modhub.events import AccountDeleted
from modhub_testing import TEST_ACCOUNTS, Site, Start
from modhub_testing.mods import mod_address, new_mod, notes_of_mod, published_mod, upload_asset
from modhub_testing.workers import run_worker

pytestmark = [pytest.mark.slow, pytest.mark.postgres]

Command = Callable[..., tuple[int, str]]
Deed = tuple[str, str, str]


@pytest.fixture
def command(site: Site, capsys: pytest.CaptureFixture[str]) -> Command:
    """``command("audit", "verify")``: the exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        return run_command(site.config, ["-c", "x.ini", *arguments]), capsys.readouterr().out

    return run


def deeds(site: Site) -> list[Deed]:
    """Who did what to what."""
    with site.databases.readonly_session() as session:
        return [
            (
                f"{entry.actor_kind} {entry.actor_id}".strip(),
                entry.action,
                f"{entry.target_kind} {entry.target_id}".strip(),
            )
            for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        ]


def personal_parts(site: Site) -> list[PersonalPart]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(PersonalPart).order_by(PersonalPart.at)).all())


def test_deeds_of_owners_are_recorded(site: Site) -> None:
    # C-AUD-1
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    owner = site.as_account(7)
    mod = published_mod(site)
    address, target = mod_address(mod), f"mod {mod['id']}"
    owner.put_json(address, {"title": "Another title"})
    owner.put_json(address, {"title": "Another title"})  # changes nothing
    upload_asset(site, mod, "images", b"\x89PNG\r\n\x1a\n", content_type="image/png")
    with site.databases.readonly_session() as session:
        image_id = session.scalars(select(Asset.id).where(Asset.kind == "image")).one()
    owner.delete(mod_address(mod, "images", image_id), status=204)
    note = notes_of_mod(site, mod)[0]
    owner.put_json(mod_address(mod, "changelog", note["id"]), {"text": "x"})
    owner.delete(mod_address(mod, "changelog", note["id"]), status=204)
    site.as_account(8).put_json(mod_address(mod, "vote"), {"vote": "up"}, expect_errors=True)
    site.get(address)
    owner.delete(address, status=204)
    expected = ["mod created", "file uploaded", "mod published", "mod edited", "file uploaded", "image deleted"]
    expected += ["changelog entry edited", "changelog entry deleted", "mod deleted"]
    assert deeds(site) == [("account 7", action, target) for action in expected]
    parts = personal_parts(site)
    assert {(part.account_id, part.address) for part in parts} == {(7, "192.0.2.7")}
    with site.databases.readonly_session() as session:
        first = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).first()
        assert first is not None
        assert json.loads(first.details) == {"guid": mod["guid"]}
        assert len(first.request_id) == 16
        stored = "".join(str(row) for row in session.execute(AuditEntry.__table__.select()))
    assert "192.0.2.7" not in stored


def test_a_refused_deed_is_not_recorded(site: Site) -> None:
    # C-AUD-1
    mod = published_mod(site)
    before = deeds(site)
    upload_asset(site, mod, "code", version="1", name="x.zip", status=409)
    site.as_account(8).put_json(mod_address(mod), {"title": "Mine"}, status=401)
    assert deeds(site) == before


def test_only_what_is_committed_is_logged(site: Site, caplog: pytest.LogCaptureFixture) -> None:
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
        with suppress(KeyError), session.begin_nested():
            record(session, "rolled back", "mod", 4)
            session.flush()
            raise KeyError
        with session.begin_nested():
            record(session, "committed", "mod", 5)
        session.flush()
        assert not caplog.messages
        session.commit()
        session.commit()
    assert [json.loads(line) for line in caplog.messages] == [
        {"event": "committed", "mod": 3},
        {"event": "committed", "mod": 5},
    ]


def test_an_attempt_that_is_repeated_is_logged_once(
    site: Site, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # C-AUD-1
    mod = published_mod(site)
    caplog.set_level("INFO", "modhub.security")
    attempts = []

    def conflict(*_arguments: object) -> None:
        attempts.append(1)
        if len(attempts) == 1:
            raise TransientError

    monkeypatch.setattr("modhub.catalogue.public_copies.rewrite_copies", conflict)
    site.as_account(7).put_json(mod_address(mod), {"title": "Another title"})
    assert len(attempts) == 2
    lines = [line.message for line in caplog.records if line.name == "modhub.security"]
    assert [json.loads(line)["event"] for line in lines] == ["mod edited"]


def test_deeds_of_keys_and_operators_are_recorded(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
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
    run_command(site.config, ["-c", "x.ini", "game", "add", "Portal"])
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
    assert ("operator", "mod hidden", f"mod {mod['id']}") in recorded
    assert ("operator", "curated game changed", "game Portal") in recorded
    operators = {(part.name, part.address, part.account_id) for part in personal_parts(site) if part.name}
    assert operators == {("grace", "2001:db8::7", None)}


def fill(site: Site, count: int = 5) -> None:
    """Entries of account 7, each with a personal part."""
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    for _ in range(count):
        new_mod(site)


@pytest.fixture
def sealed(site: Site) -> Site:
    """Five sealed entries."""
    fill(site)
    assert seal_entries(site.databases.write_session.begin, site.find_service(EntryMac)) == 5
    return site


COLUMNS = ("token", "actor_kind", "actor_id", "action", "target_kind", "target_id", "details", "request_id")
CHANGES = [*((column, "'x'") for column in (*COLUMNS, "personal_digest", "digest")), ("at", "at + 1")]


@pytest.mark.parametrize(("column", "value"), CHANGES)
def test_a_changed_entry_is_found(sealed: Site, command: Command, column: str, value: str) -> None:
    # C-AUD-2
    with sealed.databases.write_session.begin() as session:
        session.execute(text(f"UPDATE core_audit_entry SET {column} = {value} WHERE number = 3"))
    code, output = command("audit", "verify")
    assert (code, "Entry 3 was changed or moved." in output) == (1, True)


FORGED = """
INSERT INTO core_audit_entry (token, at, actor_kind, actor_id, action, target_kind, target_id, details, request_id,
    personal_digest, mac, number, digest)
SELECT '{token}', at + 1, actor_kind, '8', action, target_kind, target_id, details, request_id,
    '', mac, {number}, digest
FROM core_audit_entry WHERE number = 3
"""
SWAP = (
    "UPDATE core_audit_entry SET number = -1 WHERE number = 2; "
    "UPDATE core_audit_entry SET number = 2 WHERE number = 4; "
    "UPDATE core_audit_entry SET number = 4 WHERE number = -1"
)


MISPLACED = "UPDATE core_audit_personal SET token = 'x' WHERE at = (SELECT max(at) FROM core_audit_personal)"


@pytest.mark.parametrize(
    ("statements", "sentence"),
    [
        ("DELETE FROM core_audit_entry WHERE number = 3", "Entry 3 is missing."),
        ("DELETE FROM core_audit_entry WHERE number IN (2, 3)", "Entries 2 to 3 are missing."),
        ("DELETE FROM core_audit_entry WHERE number = 1", "Entry 1 is missing."),
        ("DELETE FROM core_audit_entry WHERE number = 5", "Entry 5 is missing."),
        ("DELETE FROM core_audit_entry", "Entries 1 to 5 are missing."),
        (FORGED.format(token="forged", number="NULL"), "was inserted by somebody else."),
        (FORGED.format(token="forged", number="6"), "but there are entries up to 6."),
        (FORGED.format(token="forged", number="0"), "Entry 0 was changed or moved."),
        (SWAP, "Entry 2 was changed or moved."),
        ("UPDATE core_audit_entry SET number = NULL, digest = NULL WHERE number = 3", "Entry 3 is missing."),
        ("UPDATE core_audit_head SET number = 4", "but there are entries up to 5."),
        ("UPDATE core_audit_head SET digest = 'x'", "Entry 5 does not have the digest of the end of the chain."),
        ("DELETE FROM core_audit_head", "but there are entries up to 5."),
        ("UPDATE core_audit_head SET id = 7", "but there are entries up to 5."),
        ("UPDATE core_audit_personal SET at = at + 1", "The personal part of entry 1 was changed."),
        ("UPDATE core_audit_personal SET account_id = 8", "The personal part of entry 1 was changed."),
        ("UPDATE core_audit_personal SET account_id = NULL", "The personal part of entry 1 was changed."),
        ("UPDATE core_audit_personal SET address = '192.0.2.8'", "The personal part of entry 1 was changed."),
        (
            "UPDATE core_audit_personal SET token = 'x' WHERE at = (SELECT max(at) FROM core_audit_personal)",
            "no entry.",
        ),
    ],
)
def test_tampering_is_found(sealed: Site, command: Command, statements: str, sentence: str) -> None:
    # C-AUD-2
    with sealed.databases.write_session.begin() as session:
        for statement in statements.split(";"):
            session.execute(text(statement))
    code, output = command("audit", "verify")
    assert code == 1
    assert sentence in output
    new_mod(sealed)  # what comes later hides nothing
    assert command("audit", "verify")[0] == 1


def test_a_rewritten_chain_is_found_by_what_was_noted(sealed: Site, command: Command) -> None:
    # C-AUD-2
    noted = command("audit", "verify")[1].split()[-1]
    assert command("audit", "verify", "--expect", noted)[0] == 0
    with sealed.databases.write_session.begin() as session:
        session.execute(text("UPDATE core_audit_entry SET action = 'x' WHERE number = 3"))
        digest = hashing.FIRST_DIGEST
        for entry in session.scalars(select(AuditEntry).order_by(AuditEntry.number)):
            assert entry.number is not None
            entry.digest = digest = hashing.chained_digest(digest, entry.number, entry)
        session.execute(update(AuditHead).values(digest=digest))
    assert command("audit", "verify")[0] == 0
    code, output = command("audit", "verify", "--expect", noted)
    assert (code, "Entry 5 does not have the expected digest" in output) == (1, True)
    with sealed.databases.write_session.begin() as session:
        session.execute(text("DELETE FROM core_audit_entry"))
        session.execute(text("DELETE FROM core_audit_personal"))
        session.execute(update(AuditHead).values(number=0, digest=hashing.FIRST_DIGEST))
    assert command("audit", "verify")[0] == 0
    code, output = command("audit", "verify", "--expect", noted)
    assert (code, "Entries 1 to 5 are missing." in output) == (1, True)


def test_erasure_is_no_error(sealed: Site, command: Command) -> None:
    # C-AUD-3
    databases = sealed.databases
    with databases.write_session.begin() as session:
        session.execute(update(PersonalPart).values(at=now() - timedelta(days=91)))
    new_mod(sealed)
    assert erase_expired(databases.write_session.begin, 90) == 5
    assert erase_expired(databases.write_session.begin, 90) == 0
    assert command("audit", "verify")[0] == 0
    entry = json.loads(command("audit", "export")[1].splitlines()[0])
    assert (entry["address"], entry["name"], len(entry["personalDigest"])) == (None, None, 64)


def test_nobody_can_guess_an_erased_address_from_what_is_left(site: Site) -> None:
    # C-AUD-3: of the same address two entries keep different digests.
    fill(site, 2)
    with site.databases.readonly_session() as session:
        digests = session.scalars(select(AuditEntry.personal_digest)).all()
    assert {(part.address, part.name) for part in personal_parts(site)} == {("192.0.2.7", "")}
    assert len(set(digests)) == len(digests) == 2


def test_a_deleted_account_leaves_nothing_personal(site: Site, command: Command) -> None:
    # C-AUD-3
    fill(site, 2)
    new_mod(site, owner=8)
    request = SimpleNamespace(caller=account_identity(7), environ={"REMOTE_ADDR": "192.0.2.7"})
    with site.databases.write_session.begin() as session:
        act_for_request(session, request)
        record(session, "account deleted", "account", 7)
        site.registry.notify(AccountDeleted(7, session, site.registry))
    assert [part.account_id for part in personal_parts(site)] == [8]
    assert deeds(site)[-1] == ("account 7", "mods deleted with their account", "account 7")
    assert command("audit", "verify")[0] == 0


def test_nobody_waits_for_a_writer(site: Site, dialect: str) -> None:
    # C-AUD-4
    if dialect == "sqlite":
        pytest.skip("one writer at a time, whatever it writes")
    databases, mac = site.databases, site.find_service(EntryMac)
    with databases.write_session() as slow:
        record(slow, "slow deed", "thing", 1)
        slow.flush()
        with databases.write_session.begin() as session:
            session.execute(text("SET LOCAL lock_timeout = '1ms'"))
            record(session, "fast deed", "thing", 2)
        assert seal_entries(databases.write_session.begin, mac) == 1
        slow.commit()
    assert seal_entries(databases.write_session.begin, mac) == 1
    with databases.readonly_session() as session:
        by_number = select(AuditEntry.action).order_by(AuditEntry.number)
        assert session.scalars(by_number).all() == ["fast deed", "slow deed"]


def test_only_one_process_seals_and_writers_go_first(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    # C-AUD-4
    databases = site.databases
    fill(site, 1)
    assert run_worker(site.registry, "audit entries")
    fill(site, 3)
    with databases.write_session() as other:
        other.scalars(select(AuditHead).with_for_update()).one()
        assert run_worker(site.registry, "audit entries")
        assert sealing.has_unsealed(databases)
    assert run_worker(site.registry, "audit entries")
    assert not sealing.has_unsealed(databases)
    assert "wait" not in caplog.text


def test_many_entries_are_sealed_in_batches(site: Site, command: Command) -> None:
    with site.databases.write_session.begin() as session:
        for number in range(1201):
            record(session, "many deeds", "thing", number)
    begin, mac = site.databases.write_session.begin, site.find_service(EntryMac)
    with ThreadPoolExecutor(4) as pool:  # as many processes would
        assert sum(pool.map(lambda _: seal_entries(begin, mac), range(4))) == 1201
    assert json.loads(command("audit", "verify", "--json")[1])["entries"] == 1201
    assert len(command("audit", "export")[1].splitlines()) == 1201


def test_a_secret_may_change_before_the_sealing(site: Site) -> None:
    fill(site, 1)
    (old,) = site.registry.settings["modhub.secret"]
    with site.databases.readonly_session() as session:
        entry = session.scalars(select(AuditEntry)).one()
    assert EntryMac(["a new secret", old]).is_valid(entry)
    assert not EntryMac(["a new secret"]).is_valid(entry)


def test_a_backup_has_no_entry_that_another_secret_would_report(site: Site, command: Command, tmp_path: Path) -> None:
    # C-AUD-2, C-RUN-16
    fill(site)
    assert command("backup", str(tmp_path / "made"))[0] == 0
    (table,) = (entry for entry in read_manifest(tmp_path / "made").tables if entry.name == AuditEntry.__tablename__)
    at = [column.name for column in table.columns].index("number")
    numbers = [row[at] for row in read_rows(tmp_path / "made", table)]
    assert len(numbers) == len(deeds(site)) - 1  # without the backup itself
    assert sorted(numbers) == list(range(1, len(numbers) + 1))


def test_the_list_finds_entries(site: Site, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-AUD-5
    monkeypatch.setenv("SUDO_USER", "grace")
    site.extra_environ = {**site.extra_environ, "REMOTE_ADDR": "192.0.2.7"}
    mod = published_mod(site)
    new_mod(site, owner=8)
    command("mod", "hide", str(mod["id"]))

    def listed(*options: str) -> list[Any]:
        code, output = command("audit", "list", "--json", *options)
        assert code == 0
        return [json.loads(line) for line in output.splitlines()]

    everything = listed()
    assert [entry["action"] for entry in everything] == [action for _, action, _ in deeds(site)][::-1]
    newest = everything[0]
    assert newest["actor"] == {"kind": "operator", "id": ""}
    assert newest["target"] == {"kind": "mod", "id": str(mod["id"])}
    assert (newest["name"], newest["number"], newest["details"]["owner"]) == ("grace", None, 7)
    assert [entry["action"] for entry in listed("--actor", "account 8")] == ["mod created"]
    assert [entry["action"] for entry in listed("--actor", "operator")] == ["mod hidden"]
    assert len(listed("--target", f"mod {mod['id']}")) == len(everything) - 1
    assert [entry["action"] for entry in listed("--action", "mod published")] == ["mod published"]
    assert listed("--since", "2999-01-01") == []
    assert len(listed("--since", "2020-01-01T00:00Z", "--limit", "2")) == 2
    output = command("audit", "list", "--action", "file uploaded")[1]
    assert f"account 7 (192.0.2.7): file uploaded: mod {mod['id']}, kind code" in output
    assert command("audit", "list", "--actor", "key none") == (0, "No matching entries.\n")


def test_lines_have_no_control_characters(site: Site, command: Command) -> None:
    with site.databases.write_session.begin() as session:
        record(session, "deed", "thing", "\x1b[31mred\x9b\n2 lies", version="ü\u202e")
    output = command("audit", "list")[1]
    assert output.count("\n") == 1
    assert output.rstrip("\n").isprintable()


@pytest.mark.parametrize(
    "arguments", [("list", "--limit", "0"), ("list", "--since", "soon"), ("verify", "--expect", "5"), ()]
)
def test_a_wrong_call_is_refused(command: Command, arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as refused:
        command("audit", *arguments)
    assert refused.value.code == 2
