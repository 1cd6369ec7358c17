"""Who is a moderator, and what everybody else sees of their pages."""

import json
from functools import partial

import pytest
from sqlalchemy import delete, insert

from modhub.base.settings import StartRefused
from modhub.db import now
from modhub.plugins.services import IProfiles
from modhub_auth.models import Authenticator
from modhub_moderation.moderators import Moderator
from modhub_testing.pages import new_visitor
from tests.people import add_authenticator, register, write

from .conftest import begin

pytestmark = pytest.mark.slow
DESK = "/Modhub/moderation"


@pytest.fixture
def admin(site, run_admin):
    return partial(run_admin, site)


def test_a_moderator_needs_an_authenticator(site, ada, admin):
    # C-CAS-1
    ada.pages.get(f"{DESK}/cases", status=404)
    with pytest.raises(StartRefused, match="no authenticator"):
        admin("moderator", "add", ada.address)
    assert admin("moderator", "list") == (0, "No moderators.\n")
    add_authenticator(site, ada.id)
    assert admin("moderator", "add", ada.address, "--dry-run") == (0, "Nothing was changed.\n")
    assert f"Account {ada.id} is a moderator now" in admin("moderator", "add", ada.address)[1]
    assert "already" in admin("moderator", "add", str(ada.id))[1]
    listed = json.loads(admin("moderator", "list", "--json")[1])
    assert (listed["accountId"], listed["name"]) == (ada.id, "Ada")
    ada.pages.get(f"{DESK}/cases", status=200)
    assert "no longer" in admin("moderator", "remove", str(ada.id))[1]
    ada.pages.get(DESK, status=404)
    for words in (("remove", str(ada.id)), ("add", "999"), ("add", "nobody@example.org")):
        with pytest.raises(StartRefused):
            admin("moderator", *words)


def test_to_everybody_else_there_is_nothing(site, ada, mo):
    # C-CAS-1
    assert f'href="{DESK}"' in mo.pages.get("/Modhub")
    assert f'href="{DESK}"' not in ada.pages.get("/Modhub")
    for visitor in (new_visitor(site), ada.pages):
        for below in ("", "/cases", "/cases/1", "/queue", "/bulk", "/scans", "/appeals/1"):
            there, absent = (visitor.get(DESK + path, status=404).text for path in (below, f"{below}x"))
            assert there.replace(DESK + below, "") == absent.replace(f"{DESK}{below}x", "")


def test_a_factor_that_was_removed_closes_the_desk(site, mo):
    # C-CAS-1
    write(site, delete(Authenticator).where(Authenticator.account_id == mo.id))
    assert "need an authenticator" in mo.pages.get(DESK, status=403)


def test_without_the_setting_a_password_is_enough(start, monkeypatch):
    site = begin(start, monkeypatch, modhub_moderation__second_factor="false")
    ada = register(site, "Ada")
    write(site, insert(Moderator).values(account_id=ada.id, since=now()))
    ada.pages.get(f"{DESK}/cases", status=200)


@pytest.mark.postgres
def test_a_deleted_account_is_no_moderator(site, mo, admin):
    assert site.find_service(IProfiles).get_profiles({mo.id})
    admin("account", "delete", str(mo.id), "--yes")
    assert admin("moderator", "list") == (0, "No moderators.\n")
