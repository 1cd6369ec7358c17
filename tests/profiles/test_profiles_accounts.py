"""Profiles with the accounts of modhub_auth: the account's page, its deletion."""

import pytest

from modhub_auth.services import delete_account, lock_account
from modhub_profiles.models import AuthorProfile, ModLinks
from modhub_testing.pages import form_at, new_visitor
from tests.people import cheap_hashes

PERSON = {"email": "ada@example.org", "password": "correct horse battery"}


@pytest.fixture
def site(start, monkeypatch):
    """With hashes that take no time."""
    with cheap_hashes(monkeypatch):
        return start("modhub_auth modhub_profiles", modhub__mail_dir="{folder}/mail")


def test_the_account_leads_to_its_profile_and_takes_it_along(site):
    # C-PRF-4, C-PRF-6
    visitor = new_visitor(site)
    form = form_at(visitor.get("/Modhub/account/register"), "")
    for name, value in PERSON.items():
        form[name] = value
    form.submit(status=303)
    assert visitor.get("/Modhub/account").html.select_one('a[href="/Modhub/profile"]').text == "Edit your profile"
    form = form_at(visitor.get("/Modhub/profile"), "/Modhub/profile")
    form["sentence"] = "I draw maps."
    form.submit(status=303)
    account_id = site.post_json("/api/auth/login", PERSON).json["accountId"]
    with site.databases.write_session.begin() as session:
        session.add(ModLinks(mod_id=999))
        account = lock_account(session, account_id)
        assert account is not None
        delete_account(session, site.registry, account)
    with site.databases.readonly_session() as session:
        assert session.query(AuthorProfile).count() == 0
        # Of somebody else.
        assert session.query(ModLinks).count() == 1
