"""A person's own data: asking and downloading (C-DAT)."""

import io
import json
import stat
import zipfile
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from modhub.admin.program import run_command
from modhub.base.body_rules import BodyRules
from modhub.base.errors import storage_unreachable
from modhub.base.service_registry import find_service
from modhub.base.settings import StartRefused
from modhub.blobs import BlobStore
from modhub_auth.personal_data import personal_archive
from modhub_moderation.personal_data import ARCHIVES_AT_ONCE, ArchiveTurns
from modhub_testing.pages import form_at, make_mod_by_form, messages_on, new_visitor, send_file_by_form, workshop_form
from tests.people import PASSWORD, PNG, actions, register

from .cases_kit import make_case, rule
from .conftest import begin, make_moderator

pytestmark = pytest.mark.slow

PAGE = "/Modhub/account/data"
ALL = "modhub_auth modhub_following modhub_profiles modhub_tags modhub_moderation"


@pytest.fixture
def site(start, monkeypatch):
    return begin(start, monkeypatch, ALL)


def sign_up(site):
    return register(site, "Ada").pages


def ask(visitor, password=PASSWORD, status=200):
    form = form_at(visitor.get(PAGE), "")
    form["currentPassword"] = password
    return form.submit(status=status)


def unpack(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {
            name: json.loads(archive.read(name)) if name.endswith(".json") else archive.read(name)
            for name in archive.namelist()
        }


def made(visitor):
    return unpack(ask(visitor).body)


def exports(site):
    return actions(site).count("own data exported")


@pytest.mark.postgres
def test_everything_of_the_account_is_in_it_and_nothing_of_others(site):
    # C-DAT-2, C-DAT-3
    site.extra_environ["REMOTE_ADDR"] = "192.0.2.7"
    ada, voter = sign_up(site), register(site, "Bob")
    bob = voter.pages
    page = make_mod_by_form(ada, title="Ada's map", description="<p>Mine</p>")
    send_file_by_form(page, "code", "a map.zip", b"the code", version="1.0").follow(status=200)
    make_mod_by_form(bob, title="Bob's timer")
    workshop_form(ada, "/Modhub/mine/1/publish").submit(status=303)
    profile = form_at(ada.get("/Modhub/profile"), "/Modhub/profile")
    profile["sentence"] = "I draw maps."
    profile.submit(status=303)
    voter.call("put_json", "/api/modhub/1/vote", params={"value": 1})
    own = made(ada)
    documents = ["account.json", "history.json", "mods.json", "profile.json"]
    assert sorted(own) == sorted(["about.json", "files/mods/1/1-a map.zip", *documents])
    assert own["about.json"]["documents"] == documents
    (mod,) = own["mods.json"]
    assert (mod["title"], mod["description"], mod["published"]) == ("Ada's map", "<p>Mine</p>", True)
    assert mod["changelog"][0]["version"] == "1.0"
    assert own[f"files/{mod['files'][0]['path']}"] == b"the code"
    assert own["profile.json"]["sentence"] == "I draw maps."
    (login,) = own["account.json"]["logins"]
    assert (login["subject"], login["verified"]) == ("ada@example.org", True)
    assert {deed["address"] for deed in own["history.json"]} == {"192.0.2.7"}
    assert {"registered", "mod created"} <= {deed["action"] for deed in own["history.json"]}
    written = json.dumps({name: own[name] for name in own if name.endswith(".json")})
    assert "bob" not in written.lower()
    assert "argon2" not in written
    theirs = made(bob)
    assert [(vote["modId"], vote["value"]) for vote in theirs["votes.json"]] == [(1, 1)]
    assert [mod["title"] for mod in theirs["mods.json"]] == ["Bob's timer"]


def test_that_a_notice_was_dismissed_is_not_told(site):
    # C-DAT-3
    ada, owner, mo = sign_up(site), SimpleNamespace(id=1), make_moderator(site, "Mo")
    make_mod_by_form(ada, title="Ada's map")
    rule(site, make_case(site, owner, stranger=True), "dismiss", mo)
    assert "moderation.json" not in made(ada)
    rule(site, make_case(site, owner, {"id": 1, "title": "Ada's map"}), "hide", mo)
    assert [decision["kind"] for decision in made(ada)["moderation.json"]["decisions"]] == ["hide"]


def test_a_file_that_cannot_be_read_is_named(site, monkeypatch):
    # C-DAT-2
    visitor = sign_up(site)
    send_file_by_form(make_mod_by_form(visitor), "images", "a.png", PNG).follow(status=200)

    def refuse(*_):
        raise storage_unreachable()

    monkeypatch.setattr(find_service(site.registry, BlobStore), "open", refuse)
    about = made(visitor)["about.json"]
    assert (about["files"], about["missingFiles"]) == (0, ["files/mods/1/1-a.png"])


def test_a_file_is_opened_when_its_turn_comes_and_no_session_waits(site, monkeypatch):
    # C-DAT-1
    page = make_mod_by_form(sign_up(site))
    for name in ("a.png", "b.png"):
        page = send_file_by_form(page, "images", name, PNG + name.encode()).follow(status=200)
    store, opened, sessions = find_service(site.registry, BlobStore), list[str](), list[Any]()
    open_blob, open_session = store.open, site.databases.readonly_session

    def note(key, size, sha256):
        opened.append(key)
        return open_blob(key, size, sha256)

    @contextmanager
    def noted():
        with open_session() as session:
            sessions.append(session)
            yield session
            sessions.remove(session)

    monkeypatch.setattr(store, "open", note)
    monkeypatch.setattr(site.databases, "readonly_session", noted)
    counts = []
    for _ in personal_archive(site.registry, 1):
        assert sessions == []
        counts.append(len(opened))
    assert sorted(set(counts)) == [0, 1, 2]


def test_a_process_sends_two_at_once(site):
    # C-DAT-1
    visitor, turns = sign_up(site), find_service(site.registry, ArchiveTurns)
    sent = [turns.take(iter([b"a piece"])) for _ in range(ARCHIVES_AT_ONCE)]
    answer = ask(visitor, status=503)
    assert messages_on(answer)[0] == "busy"
    assert answer.headers["Retry-After"]
    assert exports(site) == 0
    sent[0].close()
    assert list(sent[1]) == [b"a piece"]
    for _ in range(ARCHIVES_AT_ONCE + 1):
        ask(visitor)


def test_the_operator_exports_an_account(site, tmp_path, capsys):
    # C-DAT-6
    address, target = register(site, "Ada").address, tmp_path / "ada.zip"

    def export(account):
        return run_command(site.config, ["-c", "x.ini", "account", "export", account, "--to", str(target)])

    assert export(address) == 0
    content = target.read_bytes()
    assert unpack(content)["account.json"]["logins"][0]["subject"] == address
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(StartRefused, match="File exists"):
        export(address)
    assert target.read_bytes() == content
    with pytest.raises(StartRefused, match="no account 99"):
        export("99")
    assert f"{len(content)} bytes" in capsys.readouterr().out
    assert exports(site) == 1


def test_its_password_is_hashed_in_a_thread_that_may_wait(site):
    # T-D8
    rules = site.find_service(BodyRules)
    assert all(rules.find("POST", f"/Modhub/account/{name}").waits for name in ("data", "delete", "login"))


def test_it_is_sent_at_once_to_the_session_of_the_account_with_fresh_proof(site):
    # C-DAT-1, T-B9
    ada = register(site, "Ada")
    visitor = ada.pages
    assert visitor.get("/Modhub/account").html.select_one(f'a[href="{PAGE}"]') is not None
    assert ask(visitor, "wrong horse battery", status=403).content_type == "text/html"
    new_visitor(site).get(PAGE, headers=ada.bearer, status=303)
    assert exports(site) == 0
    answer = ask(visitor)
    assert answer.content_type == "application/zip"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="modhub-data-1.zip"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert unpack(answer.body)["account.json"]["displayName"]
    assert exports(site) == 1
