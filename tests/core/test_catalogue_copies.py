"""Public copies are always correct, damage is reported, deletion is complete, ids are not reused."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, select, text, update

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
from modhub_testing import Site, stored_files
from modhub_testing.mods import (
    OWNER,
    copy_damage,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    notes_of_mod,
    publish_test_mod,
    published_mod,
    restore_mod,
    upload_asset,
)

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def rows(site: Site, table: Any) -> int:
    with site.databases.readonly_session() as session:
        return len(session.execute(select(table)).all())


def full_text_is_true(site: Site) -> None:
    """SQLite's own check of the full-text index against the table that it is made from."""
    if site.databases.dialect == "sqlite":
        with site.databases.write_engine.begin() as connection:
            connection.execute(text("INSERT INTO fts_core_text(fts_core_text, rank) VALUES ('integrity-check', 1)"))


def test_copies_are_true_after_every_kind_of_write(site: Site) -> None:
    own, other = site.as_account(OWNER), site.as_account(8)
    mod = new_mod(site, title="Ünö", games=["Portal"], requires=["0" * 8 + "-0000-0000-0000-" + "0" * 12])
    upload_asset(site, mod, "code", version="1")
    asset = upload_asset(site, mod, "images", content_type="image/png")["assets"][-1]["url"].rpartition("/")[2]

    def check() -> None:
        assert copy_damage(site) == []
        full_text_is_true(site)

    check()
    publish_test_mod(site, mod)
    note = notes_of_mod(site, mod)[0]["id"]
    writes: list[Callable[[], Any]] = [
        lambda: own.put_json(mod_address(mod), {"title": "Dös", "games": ["Portal", "portal 2"], "requires": []}),
        lambda: own.put_json(
            mod_address(mod), {"requires": [f"{at:08d}-0000-0000-0000-{at:012d}" for at in range(50)]}
        ),
        lambda: own.put_json(mod_address(mod), {"games": []}),
        lambda: upload_asset(site, mod, "code", b"two", version="2"),
        lambda: upload_asset(site, mod, "css"),
        lambda: upload_asset(site, mod, "images"),
        lambda: own.delete(mod_address(mod, "images", asset)),
        lambda: other.put_json(mod_address(mod, "vote"), {"value": 1}),
        lambda: other.put_json(mod_address(mod, "vote"), {"value": -1}),
        lambda: own.put_json(mod_address(mod, "changelog", note), {"title": "x", "text": "y"}),
        lambda: own.delete(mod_address(mod, "changelog", note)),
        lambda: own.post(mod_address(mod, "publish")),
        lambda: hide_mod(site, mod, "a reason"),
        lambda: own.put_json(mod_address(mod), {"title": "Hidden", "games": ["Quake"]}),
        lambda: upload_asset(site, mod, "code", b"three", version="3"),
        lambda: own.post(mod_address(mod, "publish")),
        lambda: restore_mod(site, mod),
        lambda: hide_mod(site, mod),
        lambda: own.put_json(mod_address(mod), {"title": ""}, status=400),
        lambda: insert_mods(site, [{}, {"published": False}]),
        lambda: own.delete(mod_address(mod)),
    ]
    for write in writes:
        write()
        check()
    assert rows(site, PublicMod) == 1


BREAKS: list[Any] = [
    update(PublicMod).values(document=b"{}"),
    update(PublicMod).values(score=5),
    update(PublicMod).values(owner=9),
    update(PublicMod).values(requires="x"),
    update(PublicText).values(text="other"),
    update(PublicGame).values(folded="other"),
    delete(PublicGame),
    delete(PublicText),
    delete(PublicRequirement),
    update(PublicRequirement).values(guid="x"),
    update(PublicCounter).values(value=7),
    update(Mod).values(title="other"),
    update(Mod).values(published=False),
    update(Mod).values(hidden_at=now()),
    update(Asset).values(name="other"),
    update(Asset).values(content_type="x/other", name="other2"),
]


def test_every_broken_copy_is_reported(site: Site) -> None:
    # C-RUN-5
    mod = published_mod(site, games=["Portal"], requires=["0" * 8 + "-0000-0000-0000-" + "0" * 12])
    for broken in BREAKS:
        session = site.databases.write_session()
        session.execute(broken)
        assert list(copies.public_copy_damage(session)), str(broken)
        session.rollback()
        session.close()
    assert copy_damage(site) == []
    assert site.get(mod_address(mod)).json["title"] == mod["title"]


def test_no_id_is_given_out_twice(site: Site) -> None:
    # C-MOD-2, T-B5
    own = site.as_account(OWNER)
    seen: list[tuple[str, object]] = []
    for _ in range(3):
        mod = published_mod(site)
        image = upload_asset(site, mod, "images")["assets"][-1]["url"]
        note = notes_of_mod(site, mod)[0]["id"]
        seen += [("mod", mod["id"]), ("guid", mod["guid"]), ("note", note), ("asset", image)]
        seen.append(("asset", mod["assets"][0]["url"]))
        own.delete(mod_address(mod, "images", image.rpartition("/")[2]))
        again = upload_asset(site, mod, "images")["assets"][-1]["url"]
        own.delete(mod_address(mod, "changelog", note))
        upload_asset(site, mod, "code", version="1")
        seen += [("asset", again), ("note", notes_of_mod(site, mod)[0]["id"])]
        own.delete(mod_address(mod))
    assert len(set(seen)) == len(seen) == 21


def test_an_undone_write_leaves_the_copies_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    # T-F8
    mod = published_mod(site)
    before, files = site.get(mod_address(mod)).body, stored_files(site)

    def fail(*_: object) -> None:
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
