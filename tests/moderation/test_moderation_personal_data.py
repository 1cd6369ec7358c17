"""A person's own data: asking, making, downloading, ending (C-DAT)."""

import io
import json
import stat
import zipfile
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select, update

from modhub.admin.program import run_command
from modhub.audit.models import AuditEntry
from modhub.base.errors import storage_unreachable
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub.blobs.models import StoredBlob
from modhub.plugins.events import DatabaseRestored
from modhub.plugins.workers import RoundFailed
from modhub_auth.container import AuthServices
from modhub_auth.models import Login, OutgoingEmail
from modhub_auth.services import delete_account, lock_account
from modhub_moderation.cases.models import DecisionKind
from modhub_moderation.personal_data import services
from modhub_moderation.personal_data.maker import EMAIL_KIND, make_archive, make_archives
from modhub_moderation.personal_data.models import DataArchive
from modhub_testing import Site, Start
from modhub_testing.pages import form_at, make_mod_by_form, messages_on, new_visitor, send_file_by_form
from tests.people import cheap_hashes

from .cases_kit import make_case, rule, ruling_of

pytestmark = pytest.mark.slow

ADA = {"email": "ada@example.org", "password": "correct horse battery"}
BOB = {"email": "bob@example.org", "password": "correct horse battery"}
PAGE, ARCHIVE = "/Modhub/account/data", "/Modhub/account/data.zip"
ALL = "modhub_auth modhub_following modhub_profiles modhub_tags modhub_moderation"


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    """With hashes that take no time."""
    with cheap_hashes(monkeypatch):
        return start(ALL, modhub__mail_dir="{folder}/mail")


def sign_up(site: Site, person: dict[str, str] = ADA, *, confirmed: bool = True) -> Site:
    visitor = new_visitor(site)
    visitor.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    form = form_at(visitor.get("/Modhub/account/register"), "")
    for name, value in person.items():
        form[name] = value
    form.submit(status=303)
    with site.databases.write_session.begin() as session:
        session.execute(update(Login).where(Login.subject == person["email"]).values(verified=confirmed))
    return visitor


def ask(visitor: Site, password: str = ADA["password"], status: int = 303) -> Any:
    form = form_at(visitor.get(PAGE), "")
    form["currentPassword"] = password
    return form.submit(status=status)


def unpack(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {
            name: json.loads(archive.read(name)) if name.endswith(".json") else archive.read(name)
            for name in archive.namelist()
        }


def made(site: Site, visitor: Site) -> dict[str, Any]:
    ask(visitor)
    make_archives(site.registry)
    return unpack(visitor.get(ARCHIVE).body)


def emails(site: Site) -> list[OutgoingEmail]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(OutgoingEmail).where(OutgoingEmail.kind == EMAIL_KIND)))


def archives(site: Site) -> list[DataArchive]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(DataArchive)))


def age(site: Site, by: timedelta) -> None:
    with site.databases.write_session.begin() as session:
        for archive in session.scalars(select(DataArchive)):
            archive.ready_at = archive.ready_at and archive.ready_at - by
            archive.next_at -= by


def trashed(site: Site) -> int:
    with site.databases.readonly_session() as session:
        return len(session.scalars(select(StoredBlob).where(StoredBlob.trashed_at.is_not(None))).all())


def test_the_archive_is_asked_for_made_and_downloaded(site: Site) -> None:
    # C-DAT-1, C-DAT-4, C-DAT-5
    visitor = sign_up(site)
    assert visitor.get("/Modhub/account").html.select_one(f'a[href="{PAGE}"]') is not None
    assert messages_on(ask(visitor).follow())[-1] == "archive_waits"
    visitor.get(ARCHIVE, status=404)
    assert emails(site) == []
    make_archives(site.registry)
    page = visitor.get(PAGE)
    assert "archive_ready" in messages_on(page)
    answer = page.click(href=ARCHIVE)
    assert answer.content_type == "application/zip"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="modhub-data-1.zip"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert unpack(answer.body)["account.json"]["displayName"]
    (email,) = emails(site)
    message = site.find_service(AuthServices).outbox.build_message(
        email.sealed or "", email.recipient, email.message_id, email.created_at
    )
    assert message is not None
    body = message.get_body(("plain",))
    assert body is not None
    assert email.recipient == ADA["email"]
    assert f"{PAGE}\n" in body.get_content()


def test_it_needs_fresh_proof_and_waits_for_the_one_before(site: Site) -> None:
    # C-DAT-1
    visitor = sign_up(site)
    ask(visitor, "wrong horse battery", status=403)
    assert archives(site) == []
    ask(visitor)
    assert messages_on(ask(visitor, status=409))[0] == "archive_waits"
    new_visitor(site).get(PAGE, status=303)


@pytest.mark.postgres
def test_everything_of_the_account_is_in_it_and_nothing_of_others(site: Site) -> None:
    # C-DAT-2, C-DAT-3
    ada, bob = sign_up(site), sign_up(site, BOB)
    page = make_mod_by_form(ada, title="Ada's map", description="<p>Mine</p>")
    send_file_by_form(page, "code", "a map.zip", b"the code", version="1.0").follow(status=200)
    make_mod_by_form(bob, title="Bob's timer")
    mod_id = 1
    form_at(ada.get(f"/Modhub/mine/{mod_id}"), f"/Modhub/mine/{mod_id}/publish").submit(status=303)
    profile = form_at(ada.get("/Modhub/profile"), "/Modhub/profile")
    profile["sentence"] = "I draw maps."
    profile.submit(status=303)
    token = {"Authorization": f"Bearer {site.post_json('/api/auth/login', BOB).json['accessToken']}"}
    site.put_json(f"/api/modhub/{mod_id}/vote", {"value": 1}, headers=token)
    own = made(site, ada)
    assert sorted(own) == [
        "about.json",
        "account.json",
        "files/mods/1/1-a map.zip",
        "history.json",
        "mods.json",
        "profile.json",
    ]
    assert own["about.json"]["documents"] == ["account.json", "history.json", "mods.json", "profile.json"]
    (mod,) = own["mods.json"]
    assert (mod["title"], mod["description"], mod["published"]) == ("Ada's map", "<p>Mine</p>", True)
    assert mod["changelog"][0]["version"] == "1.0"
    assert own[f"files/{mod['files'][0]['path']}"] == b"the code"
    assert own["profile.json"]["sentence"] == "I draw maps."
    (login,) = own["account.json"]["logins"]
    assert (login["subject"], login["verified"]) == (ADA["email"], True)
    assert {deed["address"] for deed in own["history.json"]} == {"192.0.2.7"}
    assert {"registered", "mod created"} <= {deed["action"] for deed in own["history.json"]}
    assert "bob" not in json.dumps({name: own[name] for name in own if name.endswith(".json")}).lower()
    with site.databases.readonly_session() as session:
        secret = session.scalars(select(Login.password_hash)).first()
    assert secret is not None
    assert secret not in json.dumps(own["account.json"])
    theirs = unpack(made_for(site, bob))
    assert theirs["votes.json"] == [{"modId": 1, "value": 1, "castAt": theirs["votes.json"][0]["castAt"]}]
    assert [mod["title"] for mod in theirs["mods.json"]] == ["Bob's timer"]


def test_that_a_notice_was_dismissed_is_not_told(site: Site) -> None:
    # C-DAT-3
    ada, owner = sign_up(site), SimpleNamespace(id=1)
    make_mod_by_form(ada, title="Ada's map")
    rule(site, make_case(site, owner, stranger=True), ruling_of(DecisionKind.DISMISS))
    assert "moderation.json" not in made(site, ada)
    rule(site, make_case(site, owner, {"id": 1, "title": "Ada's map"}), ruling_of(DecisionKind.HIDE))
    assert [decision["kind"] for decision in made(site, ada)["moderation.json"]["decisions"]] == ["hide"]


def made_for(site: Site, visitor: Site) -> bytes:
    ask(visitor)
    make_archives(site.registry)
    body: bytes = visitor.get(ARCHIVE).body
    return body


def test_only_the_owners_session_gets_it(site: Site) -> None:
    # C-DAT-5, T-B9
    ada, bob = sign_up(site), sign_up(site, BOB)
    made(site, ada)
    bob.get(ARCHIVE, status=404)
    new_visitor(site).get(ARCHIVE, status=303)
    token = site.post_json("/api/auth/login", ADA).json["accessToken"]
    new_visitor(site).get(ARCHIVE, headers={"Authorization": f"Bearer {token}"}, status=303)
    ada.get(ARCHIVE, status=200)


def test_it_is_gone_after_seven_days_and_a_new_one_replaces_it(site: Site) -> None:
    # C-DAT-5
    visitor = sign_up(site)
    made(site, visitor)
    ask(visitor)
    visitor.get(ARCHIVE, status=404)
    assert trashed(site) == 1
    make_archives(site.registry)
    age(site, services.ARCHIVE_KEPT - timedelta(minutes=1))
    visitor.get(ARCHIVE, status=200)
    age(site, timedelta(minutes=1))
    visitor.get(ARCHIVE, status=404)
    assert "archive_ready" not in messages_on(visitor.get(PAGE))
    make_archives(site.registry)
    assert (archives(site), trashed(site)) == ([], 2)


def test_an_unconfirmed_address_gets_no_email(site: Site) -> None:
    # C-DAT-4
    visitor = sign_up(site, confirmed=False)
    made(site, visitor)
    assert emails(site) == []


def test_what_fails_is_tried_again_and_at_last_made_without_the_file(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # C-DAT-7
    visitor = sign_up(site)
    page = make_mod_by_form(visitor)
    send_file_by_form(page, "images", "a.png", b"\x89PNG\r\n\x1a\n").follow(status=200)
    ask(visitor)
    store = find_service(site.registry, BlobStore)

    def refuse(*_: Any) -> Any:
        raise storage_unreachable()

    with monkeypatch.context() as patch:
        patch.setattr(store, "open", refuse)
        for attempt in range(1, 4):
            with pytest.raises(RoundFailed):
                make_archives(site.registry)
            make_archives(site.registry)  # it is not due yet
            (archive,) = archives(site)
            assert (archive.attempts, archive.blob_id) == (attempt, None)
            age(site, timedelta(hours=1))
        make_archives(site.registry)
    about = unpack(visitor.get(ARCHIVE).body)["about.json"]
    assert (about["files"], about["missingFiles"]) == (0, ["files/mods/1/1-a.png"])
    reasons = {message.partition(" could not be put together: ")[2] for message in caplog.messages}
    assert str(storage_unreachable()) in reasons


def test_an_archive_that_nobody_waits_for_is_not_stored(site: Site) -> None:
    # C-DAT-7
    visitor = sign_up(site)
    ask(visitor)
    (archive,) = archives(site)
    make_archive(site.registry, archive.account_id, archive.asked_at - timedelta(seconds=1))
    assert archives(site)[0].blob_id is None
    make_archives(site.registry)
    make_archive(site.registry, archive.account_id, archive.asked_at)
    assert len(emails(site)) == 1


@pytest.mark.parametrize("end", ["account deleted", "restored"])
def test_it_ends_with_the_account_and_with_a_restore(site: Site, end: str) -> None:
    # C-DAT-8
    visitor = sign_up(site)
    made(site, visitor)
    event = None
    with site.databases.write_session.begin() as session:
        if end == "restored":
            event = DatabaseRestored(session, site.registry, "http://localhost")
            site.registry.notify(event)
        else:
            account = lock_account(session, archives(site)[0].account_id)
            assert account is not None
            delete_account(session, site.registry, account)
    assert archives(site) == []
    assert trashed(site) == 1
    if event is not None:
        assert any("archives of personal data are ended (1)" in note for note in event.notes)


def test_the_operator_exports_an_account(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # C-DAT-6
    sign_up(site)
    target = tmp_path / "ada.zip"
    assert run_command(site.config, ["-c", "x.ini", "account", "export", ADA["email"], "--to", str(target)]) == 0
    assert unpack(target.read_bytes())["account.json"]["logins"][0]["subject"] == ADA["email"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    content = target.read_bytes()
    with pytest.raises(StartRefused, match="File exists"):
        run_command(site.config, ["-c", "x.ini", "account", "export", ADA["email"], "--to", str(target)])
    assert target.read_bytes() == content
    with pytest.raises(StartRefused, match="no account 99"):
        run_command(site.config, ["-c", "x.ini", "account", "export", "99", "--to", str(tmp_path / "none.zip")])
    assert "0 files" in capsys.readouterr().out
    with site.databases.readonly_session() as session:
        assert "own data exported" in session.scalars(select(AuditEntry.action)).all()
