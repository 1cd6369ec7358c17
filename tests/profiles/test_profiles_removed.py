"""What an author's page shows goes at a moderator's word, and comes back."""

import pytest
from sqlalchemy import select

from modhub.blobs import BlobStore
from modhub.blobs.maintenance import sweep
from modhub.blobs.models import StoredBlob
from modhub.plugins.events import AccountDeleted
from modhub.plugins.moderation import IModeration
from modhub_profiles.models import AuthorProfile, KeptPicture
from modhub_profiles.upkeep import describe_pictures
from modhub_testing.mods import OWNER, published_mod
from tests.people import read

from .conftest import image
from .test_profiles_authors import AUTHOR, describe, portrait, send_picture


def call(site, method, *values):
    part = site.find_service(IModeration).parts["author_profile"]
    with site.databases.write_session.begin() as session:
        return getattr(part, method)(session, OWNER, "", *values)


def live(site):
    return read(site, select(StoredBlob.id).where(StoredBlob.trashed_at.is_(None)))


@pytest.fixture
def shown(site):
    """The author's page with a sentence, links and a picture."""
    published_mod(site)
    describe(site, sentence="Cheap coins", link1="https://coins.example")
    send_picture(site, image())
    return site.get(AUTHOR).text


def test_all_of_it_goes_and_comes_back(site, shown):
    # C-CAS-5
    picture, blobs = portrait(site), live(site)
    assert picture is not None
    kept = call(site, "remove")
    page = site.get(AUTHOR)
    assert "Cheap coins" not in page.text
    assert "coins.example" not in page.text
    assert portrait(site) is None
    site.get(picture, status=404)
    assert call(site, "remove") is None
    sweep(site.databases, site.find_service(BlobStore), 0)
    assert live(site) == blobs
    with site.databases.readonly_session() as session:
        names = describe_pictures(session, [kept["pictureId"]])
    assert names == {kept["pictureId"]: f"a picture of account {OWNER}, which a moderator removed"}
    assert call(site, "restore", kept)
    assert site.get(AUTHOR).text == shown
    assert site.get(picture, status=200)
    assert not call(site, "restore", kept)


def test_what_the_author_has_written_since_stays(site, shown):
    kept = call(site, "remove")
    describe(site, sentence="Calm overlays")
    assert call(site, "restore", kept)
    text = site.get(AUTHOR).text
    assert "Calm overlays" in text
    assert "Cheap coins" not in text
    assert "coins.example" in text


@pytest.mark.parametrize("ends", ["discarded", "deleted"])
def test_the_picture_is_not_kept_for_longer(site, shown, ends):
    kept = call(site, "remove")
    if ends == "discarded":
        call(site, "discard", kept)
        assert call(site, "restore", kept)  # the sentence and the links
        assert portrait(site) is None
    else:
        with site.databases.write_session.begin() as session:
            site.registry.notify(AccountDeleted(OWNER, session, site.registry))
    assert site.count_rows(KeptPicture) == 0
    assert kept["pictureId"] not in live(site)
    assert site.count_rows(AuthorProfile) == (ends == "discarded")
