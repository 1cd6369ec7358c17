"""The feature of docs/writing-a-feature.md runs as written there."""

import importlib
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from modhub.admin.new_migration import create_migration
from modhub.declarations import Migrations
from modhub.events import AccountDeleted
from modhub_testing import Start
from modhub_testing.mods import hide_mod, mod_address, new_mod, published_mod

GUIDE = Path(__file__).parents[2] / "docs" / "writing-a-feature.md"
PACKAGE = "modhub_reports"
INCLUDES = f"modhub_testing.accounts {PACKAGE}"
FILES = re.compile(r"(?s)```(?:python\n# |jinja\n\{# )([\w/.]+)(?: #\})?\n(.*?)```")
CREATE = f"""

def upgrade() -> None:
    from {PACKAGE}.models import Report
    Report.__table__.create(op.get_bind())
"""


@pytest.fixture(scope="module")
def feature(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package as the guide has it, with a migration that makes its table; imported once, since it maps a table."""
    folder = tmp_path_factory.mktemp("guide")
    for name, source in FILES.findall(GUIDE.read_text("utf-8")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    (folder / PACKAGE / "migrations" / "versions").mkdir(parents=True)
    made = create_migration(Migrations(PACKAGE, str(folder / PACKAGE / "migrations"), "reports_"), "Baseline")
    made.write_text(made.read_text() + CREATE)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))


def test_its_own_test_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_reports.py"))
    tests["test_a_report_is_closed_to_strangers"](start)


def test_its_test_of_deletions_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_reports.py"))
    tests["test_reports_are_deleted_with_mods_and_accounts"](start)


def test_its_test_of_the_form_passes(feature: Path, start: Start) -> None:
    tests = runpy.run_path(str(feature / "tests" / "test_reports.py"))
    tests["test_the_form_reports_a_mod"](start)


def test_its_public_read_knows_drafts_no_more_than_absent_mods(feature: Path, start: Start) -> None:
    site = start(INCLUDES)
    mod, draft = published_mod(site), new_mod(site)
    address = mod_address(mod, "reports")
    first, second = (
        site.as_account(8).post_json(address, {"text": text}, status=201).json["id"] for text in ("One", "Two")
    )
    listed = site.get(address)
    assert [report["id"] for report in listed.json["reports"]] == [second, first]
    assert [report["id"] for report in site.get(f"{address}?before={second}").json["reports"]] == [first]
    site.get(address, headers={"If-None-Match": listed.headers["ETag"]}, status=304)
    unseen = site.get(mod_address(draft, "reports"), status=404)
    assert unseen.body == site.get("/api/modhub/999/reports", status=404).body


def test_its_views_its_panel_and_its_subscribers(feature: Path, start: Start) -> None:
    site = start(INCLUDES, modhub_reports__most="2")
    mod, other = published_mod(site), published_mod(site, owner=9)
    address, reader = mod_address(mod, "reports"), site.as_account(8)
    first = reader.post_json(address, {"text": "<b>Broken</b>", "urgent": True}, status=201).json
    assert first["urgent"] is True
    assert "<p>Newest report: &lt;b&gt;Broken&lt;/b&gt;</p>" in site.get(f"/Modhub/{mod['id']}").text
    reader.post_json(mod_address(other, "reports"), {"text": "Also", "urgent": None}, status=201)
    assert reader.post_json(address, {"text": "Third"}, status=409).json["message"] == "You have 2 open reports."
    assert reader.post_json(address, {"text": 5}, status=400).json["error"] == "invalid_input"
    missing = site.as_account(9).post_json("/api/modhub/999/reports", {"text": "x"}, status=404)
    hidden = published_mod(site, owner=9)
    hide_mod(site, hidden)
    for unseen in (new_mod(site, owner=9), hidden):
        assert reader.post_json(mod_address(unseen, "reports"), {"text": "x"}, status=404).body == missing.body
    reader.delete(f"{address}/{first['id']}", status=200)
    reader.delete(f"{address}/{first['id']}", status=401)
    services = importlib.import_module(f"{PACKAGE}.services")
    with site.databases.write_session.begin() as session:
        assert services.count_open(session, 8) == 1
        site.registry.notify(AccountDeleted(9, session, site.registry))
        assert services.count_open(session, 8) == 0


def test_it_refuses_while_another_connection_writes(feature: Path, start: Start) -> None:
    # C-OWN-13
    site = start(INCLUDES, modhub__lock_seconds="1")
    address = mod_address(published_mod(site), "reports")
    report = site.as_account(8).post_json(address, {"text": "Broken"}, status=201).json["id"]
    with site.databases.write_session.begin() as session:
        session.execute(text("SELECT 1"))
        for caller in (site, site.as_account(9)):
            caller.delete(f"{address}/{report}", status=401)
        site.post_json(address, {"text": "x"}, status=401)
        site.as_account(9).post_json("/api/modhub/999/reports", {"text": "x"}, status=404)
