"""Automatic quarantine: whose notices hide a mod, when, and what is recorded of it."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from modhub.admin import program as admin
from modhub.audit.models import AuditEntry
from modhub.base.settings import StartRefused
from modhub.db import now
from modhub_auth.services import delete_account, lock_account
from modhub_moderation.cases.decisions import Decider, decide
from modhub_moderation.cases.models import Decision, DecisionKind, Ground, TrustedReporter
from modhub_moderation.cases.rulings import Ruling
from modhub_moderation.notices.models import Publication
from modhub_testing import Site, Start
from modhub_testing.mods import mod_address
from tests.people import Person, emails_to, register, text_of

from .reporters import cases_of, notices_of, report, start_moderated

pytestmark = pytest.mark.slow


@pytest.fixture
def site(start: Start, monkeypatch: pytest.MonkeyPatch) -> Site:
    return start_moderated(start, monkeypatch, modhub_moderation__quarantine="true")


def trust(site: Site, *people: Person) -> None:
    with site.databases.write_session.begin() as session:
        session.add_all(TrustedReporter(account_id=person.id, since=now()) for person in people)


def age(site: Site, mod: Any, hours: float) -> None:
    """Let the mod have been published so long ago."""
    with site.databases.write_session.begin() as session:
        was_published = Publication.mod_id == mod["id"]
        session.execute(update(Publication).where(was_published).values(published_at=now() - timedelta(hours=hours)))


def is_shown(site: Site, mod: Any) -> bool:
    return bool(site.get(mod_address(mod), status="*").status_int == 200)


def decisions_of(site: Site) -> list[Decision]:
    with site.databases.readonly_session() as session:
        return list(session.scalars(select(Decision).order_by(Decision.id)))


@pytest.mark.postgres
def test_two_trusted_reporters_hide_a_mod(site: Site) -> None:
    # C-NTC-10
    ada, rita, rob = (register(site, name) for name in ("Ada", "Rita", "Rob"))
    trust(site, rita, rob)
    mod = ada.publish()
    age(site, mod, 24.1)
    report(site, mod, by=rita)
    report(site, mod, by=rita)
    report(site, mod, "illegal", by=rob)
    assert is_shown(site, mod), "two notices of one, and one of another ground"
    report(site, mod, by=rob)
    assert not is_shown(site, mod)
    (decision,), (case,) = decisions_of(site), cases_of(site)
    assert (decision.kind, decision.ground, decision.origin) == ("hide", "malware", "notice")
    assert (decision.automatic, decision.moderator_id, case.decided_at) == (True, None, None)
    assert [notice.trusted for notice in notices_of(site)] == [True] * 4
    (statement,) = emails_to(site, ada.address, "A decision about your mod")
    assert "The decision was made automatically." in text_of(statement)
    for name in ("Rita", "Rob"):
        assert name not in text_of(statement)


def test_one_trusted_reporter_hides_a_new_mod(site: Site) -> None:
    # C-NTC-10
    ada, rita, rob = (register(site, name) for name in ("Ada", "Rita", "Rob"))
    trust(site, rita)
    new, old, unknown = (ada.publish(title) for title in ("New", "Old", "Unknown"))
    age(site, new, 23.9)
    age(site, old, 24.1)
    with site.databases.write_session.begin() as session:
        session.delete(session.get_one(Publication, unknown["id"]))
    report(site, new, by=rob)
    report(site, new)
    report(site, new, "stolen", by=rita)
    assert is_shown(site, new), "strangers, accounts that are not trusted, other grounds"
    for mod in (new, old, unknown):
        report(site, mod, by=rita)
    assert [is_shown(site, mod) for mod in (new, old, unknown)] == [False, True, True]


def test_the_audit_trail_does_not_name_the_reporter(site: Site) -> None:
    # C-NTC-7, C-NTC-10
    ada, rita = register(site, "Ada"), register(site, "Rita")
    trust(site, rita)
    mod = ada.publish()
    report(site, mod, by=rita)
    with site.databases.readonly_session() as session:
        entries = session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
    by_rita = [entry.action for entry in entries if (entry.actor_kind, entry.actor_id) == ("account", str(rita.id))]
    assert set(by_rita) <= {"registered", "signed in"}
    assert [entry.actor_kind for entry in entries if entry.action == "case decided"] == ["service"]


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_accounts_are_locked_before_the_mod(site: Site) -> None:
    # C-NTC-10: as everywhere, so that a deletion or a block of the owner at the same moment waits and ends.
    ada, rita = (register(site, name) for name in ("Ada", "Rita"))
    trust(site, rita)
    mod = ada.publish()
    with site.counted() as statements:
        report(site, mod, by=rita)
    assert not is_shown(site, mod)
    locks = re.findall(r"FROM (\w+)[^;]*? FOR (SHARE|UPDATE)(?: OF \w+)?\s*(?:;|$)", ";".join(statements))
    # The owner, about whom is decided, at once exclusively: two notices that share the row would wait for each other.
    first = ("auth_account", "UPDATE"), ("auth_account", "SHARE"), ("moderation_case", "UPDATE"), ("core_mod", "SHARE")
    assert tuple(locks[:4]) == first


def test_nothing_is_hidden_as_shipped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    # C-NTC-10
    site = start_moderated(start, monkeypatch)
    ada, rita, rob = (register(site, name) for name in ("Ada", "Rita", "Rob"))
    trust(site, rita, rob)
    mod = ada.publish()
    for reporter in (rita, rob):
        report(site, mod, by=reporter)
    assert is_shown(site, mod)
    assert decisions_of(site) == []


def test_a_mod_that_a_moderator_released_is_not_hidden_again(site: Site) -> None:
    # C-NTC-10
    ada, rita, rob = (register(site, name) for name in ("Ada", "Rita", "Rob"))
    trust(site, rita, rob)
    mod = ada.publish()
    report(site, mod, by=rita)
    (decision,) = decisions_of(site)
    with site.databases.write_session.begin() as session:
        release = Ruling(DecisionKind.RELEASE, Ground.OTHER, "It is harmless.")
        decide(session, site.registry, decision.case_id, release, Decider(), after=decision.id)
    assert is_shown(site, mod)
    report(site, mod, by=rob)
    assert is_shown(site, mod), "one notice, in a new case"
    report(site, mod, by=rita)
    assert not is_shown(site, mod)


def run(site: Site, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    parser = admin.build_admin_parser(site.config)
    arguments = parser.parse_args(["-c", "x.ini", "reporter", *words])
    code = arguments.run(admin.Admin(site.config), arguments)
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_the_operator_trusts_reporters(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    # C-NTC-10
    ada, rita = register(site, "Ada"), register(site, "Rita")
    mod = ada.publish()
    assert run(site, capsys, "list") == (0, "No trusted reporters.\n")
    assert run(site, capsys, "trust", rita.address, "--dry-run") == (0, "Nothing was changed.\n")
    assert run(site, capsys, "list", "--json") == (0, "")
    assert run(site, capsys, "trust", rita.address) == (0, f"Account {rita.id} is a trusted reporter now.\n")
    assert run(site, capsys, "trust", str(rita.id)) == (0, f"Account {rita.id} is a trusted reporter already.\n")
    assert run(site, capsys, "list")[1].startswith(f"{rita.id} Rita, since 20")
    assert json.loads(run(site, capsys, "list", "--json")[1])["accountId"] == rita.id
    for wrong in ("999", "nobody@example.org"):
        with pytest.raises(StartRefused, match="there is no account"):
            run(site, capsys, "trust", wrong)
    run(site, capsys, "distrust", str(rita.id))
    with pytest.raises(StartRefused, match="is no trusted reporter"):
        run(site, capsys, "distrust", str(rita.id))
    report(site, mod, by=rita)
    assert is_shown(site, mod)


def test_what_is_kept_of_mods_and_accounts_goes_with_them(site: Site) -> None:
    # C-NTC-8, C-NTC-10
    ada, rita = register(site, "Ada"), register(site, "Rita")
    trust(site, rita)
    kept, gone = ada.publish(), ada.publish("Gone")
    ada.site.delete(mod_address(gone), headers=ada.bearer, status=204)
    with site.databases.write_session.begin() as session:
        assert session.scalars(select(Publication.mod_id)).all() == [kept["id"]]
        account = lock_account(session, rita.id)
        assert account is not None
        delete_account(session, site.registry, account)
        assert session.scalars(select(TrustedReporter)).all() == []
