"""Features find files by digest through ``IFileDigests``: drafts, hidden mods and former versions too."""

from hashlib import sha256

import pytest

from modhub.plugins.moderation import FileUse, IModeration
from modhub_testing import Site
from modhub_testing.mods import hide_mod, new_mod, published_mod, upload_asset

pytestmark = pytest.mark.postgres

OLD, NEW, PICTURE = b"old code", b"new code", b"a picture"


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def test_a_mod_has_its_files_and_those_of_former_versions(site: Site) -> None:
    mod, other = new_mod(site), published_mod(site)
    for version, content in (("1", OLD), ("2", NEW)):
        upload_asset(site, mod, "code", content, name="hud.zip", version=version)
    upload_asset(site, mod, "images", PICTURE, name="hud.png")
    with site.databases.readonly_session() as session:
        digests = site.find_service(IModeration).files
        files = digests.of_mods(session, [mod["id"], 999])
        assert digests.of_mods(session, []) == []
        assert {file.mod_id for file in digests.of_mods(session, [mod["id"], other["id"]])} == {mod["id"], other["id"]}
    assert files == [
        FileUse(mod["id"], "code", "hud.zip", digest(NEW)),
        FileUse(mod["id"], "image", "hud.png", digest(PICTURE)),
        FileUse(mod["id"], "former", "1", digest(OLD)),
    ]


def test_a_file_is_found_in_every_mod_that_has_or_had_it(site: Site) -> None:
    draft, hidden, replaced = (new_mod(site) for _ in range(3))
    for mod in (draft, hidden, replaced):
        upload_asset(site, mod, "code", OLD, name="lib.zip", version="1")
    hide_mod(site, hidden)
    upload_asset(site, replaced, "code", NEW, name="lib.zip", version="2")
    with site.databases.readonly_session() as session:
        digests = site.find_service(IModeration).files
        places = digests.find(session, [digest(OLD), digest(b"nowhere")])
        assert digests.find(session, []) == []
        assert digests.find_others(session, [digest(OLD)]) == {}
    assert [(file.mod_id, file.kind, file.name) for file in places] == [
        (draft["id"], "code", "lib.zip"),
        (hidden["id"], "code", "lib.zip"),
        (replaced["id"], "former", "1"),
    ]
