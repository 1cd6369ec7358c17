"""Profiles with the accounts of modhub_auth: the account's page, its deletion."""

import pytest
from sqlalchemy import insert

from modhub_profiles.models import AuthorProfile, ModLinks
from tests.people import cheap_hashes, delete_person, register, write


@pytest.fixture
def site(start, monkeypatch):
    """With hashes that take no time."""
    with cheap_hashes(monkeypatch):
        return start("modhub_auth modhub_profiles", modhub__mail_dir="{folder}/mail")


def test_the_account_leads_to_its_profile_and_takes_it_along(site):
    # C-PRF-4, C-PRF-6
    ada = register(site, "Ada")
    assert ada.pages.get("/Modhub/account").html.select_one('a[href="/Modhub/profile"]').text == "Edit your profile"
    ada.press("/Modhub/profile", "/Modhub/profile", sentence="I draw maps.")
    write(site, insert(ModLinks).values(mod_id=999))
    delete_person(site, ada.id)
    assert (site.count_rows(AuthorProfile), site.count_rows(ModLinks)) == (0, 1), "links of others stay"
