"""Public copies are always correct, damage is reported, deletion is complete, ids are not reused."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import delete, update

from modhub.blobs import BlobStore, maintenance
from modhub.catalogue import copies
from modhub.catalogue.models import (
    Asset,
    Mod,
    PublicCounter,
    PublicGame,
    PublicMod,
    PublicRequirement,
    PublicText,
)
from modhub.db import now
from modhub.db.changes import ChangeReader, PublicChange
from modhub_testing import stored_files
from modhub_testing.mods import (
    OWNER,
    copy_damage,
    mod_address,
    notes_of_mod,
    published_mod,
)

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


BREAKS = [
    update(PublicMod).values(document=b"{}"),
    update(PublicText).values(text="other"),
    update(PublicGame).values(folded="other"),
    delete(PublicRequirement),
    update(PublicCounter).values(value=7),
    update(Mod).values(title="other"),
    update(Mod).values(published=False),
    update(Mod).values(hidden_at=now()),
    update(Asset).values(name="other"),
    delete(PublicChange),
    update(PublicChange).values(what="deleted"),
    update(PublicChange).values(at=datetime(2026, 1, 1, tzinfo=UTC)),
    update(PublicChange).where(PublicChange.mod_id.is_not(None)).values(key="gone"),
]


def test_every_broken_copy_is_reported_and_mended(site, monkeypatch):
    # C-RUN-5
    begin, reader = site.databases.write_session.begin, site.find_service(ChangeReader)
    for broken in BREAKS:
        mod = published_mod(site, games=["Portal"], requires=["0" * 8 + "-0000-0000-0000-" + "0" * 12])
        with begin() as session:
            session.execute(broken)
        assert copy_damage(site) != [], str(broken)
        serial = reader.generation()[0]
        copies.rebuild_copies(begin)
        assert copy_damage(site) == [], str(broken)
        assert reader.generation()[0] > serial  # answers that were kept end
        site.as_account(OWNER).delete(mod_address(mod), status=204)
    # Another fold, as a new Python brings one with its Unicode data.
    published_mod(site)
    monkeypatch.setattr(copies, "fold_search", str.upper)
    assert len(copy_damage(site)) == 1
    assert copies.rebuild_copies(begin) == 1
    assert copy_damage(site) == []


def test_an_undone_write_leaves_the_copies_alone(site, monkeypatch):
    # T-F8
    mod = published_mod(site)
    before, files = site.get(mod_address(mod)).body, stored_files(site)

    def fail(*_):
        raise ValueError("in the middle of the commit")

    with monkeypatch.context() as patch:
        patch.setattr(copies, "copies_of", fail)
        broken = site.as_account(OWNER).post(mod_address(mod, "code?version=2"), b"x", status=500)
        assert broken.json["error"] == "internal_error"
        assert "middle" not in broken.text
        site.as_account(OWNER).put_json(mod_address(mod), {"title": "x"}, status=500)
    assert site.get(mod_address(mod)).body == before
    assert len(notes_of_mod(site, mod)) == 1
    assert copy_damage(site) == []
    maintenance.sweep(site.databases, site.find_service(BlobStore), 0)
    assert stored_files(site) == files
