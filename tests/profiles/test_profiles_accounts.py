"""Profiles with the accounts of modhub_auth: the account's page, its deletion."""

import pytest
from sqlalchemy import insert

from modhub.blobs import BlobStore
from modhub.blobs.maintenance import blob_damage, sweep
from modhub_profiles.models import AuthorProfile, ModLinks
from modhub_testing import stored_files
from modhub_testing.pages import form_at
from tests.people import cheap_hashes, delete_person, register, write

from .conftest import image


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
    form = form_at(ada.pages.get("/Modhub/profile"), "/Modhub/profile/picture")
    form["file"] = ("me.png", image(), "image/png")
    form.submit(status=303)
    write(site, insert(ModLinks).values(mod_id=999))
    delete_person(site, ada.id)
    assert (site.count_rows(AuthorProfile), site.count_rows(ModLinks)) == (0, 1), "links of others stay"
    with site.databases.readonly_session() as session:
        assert list(blob_damage(session, site.find_service(BlobStore))) == []
    sweep(site.databases, site.find_service(BlobStore), -1)
    assert stored_files(site) == []
