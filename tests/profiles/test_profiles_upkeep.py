"""What operators see of links and profiles, backups, migrations, the demo, and leaving again."""

import json
from functools import partial

import pytest

from modhub.base.errors import OwnershipLost
from modhub.plugins.services import IMods
from modhub_profiles import services
from modhub_profiles.models import AuthorProfile
from modhub_testing.mods import OWNER, mod_address, published_mod

from .test_profiles_authors import AUTHOR, describe, image, portrait, send_picture
from .test_profiles_links import NOTHING


def test_an_operator_clears_a_profile(site, run_admin):
    # C-RUN-4
    clear = partial(run_admin, site, "profile", "clear")
    published_mod(site)
    assert [clear(number)[0] for number in (OWNER, 999999999)] == [1, 1]
    describe(site, sentence="Rude words", link1="https://example.org")
    send_picture(site, image())
    expected = {"account": OWNER, "sentence": "Rude words", "links": ["https://example.org"], "picture": True}
    code, said = clear(OWNER, "--dry-run", "--json")
    assert (code, json.loads(said)) == (0, expected)
    assert clear(OWNER, "--dry-run")[1].endswith("Nothing was deleted.\n")
    assert portrait(site) is not None
    assert clear(OWNER) == (
        0,
        "Sentence: Rude words\nLinks: https://example.org\nPicture: yes\nDeleted.\n",
    )
    assert portrait(site) is None
    assert "Rude words" not in site.get(AUTHOR).text
    assert clear(OWNER)[0] == 1


def test_pictures_have_names_for_operators(site):
    # C-RUN-4
    published_mod(site)
    send_picture(site, image())
    with site.databases.readonly_session() as session:
        profile = session.get_one(AuthorProfile, OWNER)
        names = site.declarations.blob_names["profiles"](session, [profile.picture_id or 0, 999])
        assert names == {profile.picture_id: f"the picture of account {OWNER}"}


def test_somebody_elses_mod_is_refused_by_the_service_too(site):
    # C-OWN-12
    mod, mods = published_mod(site), site.find_service(IMods)
    for mod_id, owner in ((mod["id"], OWNER + 1), (10**6, OWNER), (None, OWNER)):
        with pytest.raises(OwnershipLost), site.databases.write_session.begin() as session:
            services.change_links(session, mods, mod_id, owner, {"source": "https://example.org"})
    assert site.get(mod_address(mod, "links")).json == NOTHING
