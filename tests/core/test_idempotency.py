"""Calls that create something and are repeated with the same ``Idempotency-Key``."""

from datetime import timedelta

from sqlalchemy import select, update

from modhub.catalogue.models import IdempotencyKey
from modhub.catalogue.owning import uploads
from modhub.catalogue.owning.idempotency import KEPT_FOR
from modhub.db import now
from modhub_testing import stored_files
from modhub_testing.mods import OWNER, mod_address, new_mod
from modhub_testing.workers import run_worker
from tests.people import read, write

MODS = "/api/modhub"


def create(site, key, status=201, owner=OWNER, query="", **fields):
    headers = {"Idempotency-Key": key}
    return site.as_account(owner).post_json(MODS + query, fields, headers=headers, status=status).json


def add_image(site, mod, key, content, status=201, *, name="a.png"):
    address = mod_address(mod, f"images?name={name}")
    headers = {"Idempotency-Key": key}
    return site.as_account(OWNER).post(address, content, headers=headers, content_type="image/png", status=status).json


def own_mods(site):
    return site.as_account(OWNER).get("/api/modhub/mine").json["mods"]


def grow_older(site, age):
    write(site, update(IdempotencyKey).values(used_at=now() - age))


def test_keys_are_of_one_account_and_one_address(site):
    # C-OWN-31
    first, strange = create(site, "k", title="x"), create(site, "k", owner=OWNER + 1, title="x")
    assert strange["id"] != first["id"]
    for mod in (first, create(site, "k" * 255, title="x")):
        assert len(add_image(site, mod, "k", b"image")["assets"]) == 1
    # The same address in another spelling.
    headers = {"Idempotency-Key": "k"}
    assert site.as_account(OWNER).post_json("//api/modhub/", {"title": "x"}, headers=headers).json["id"] == first["id"]


def test_a_repeated_image_is_added_once(site, monkeypatch):
    # C-OWN-31
    mod = new_mod(site)
    once = add_image(site, mod, "k", b"image")
    assert add_image(site, mod, "k", b"image") == once
    assert len(stored_files(site)) == 1
    for content, name in ((b"other", "a.png"), (b"image", "b.png")):
        assert add_image(site, mod, "k", content, 409, name=name)["error"] == "idempotency_key_used"
    both = add_image(site, mod, "k2", b"image")
    assert len(both["assets"]) == 2
    for malformed in ("", "\x7f", "é".encode().decode("latin-1")):
        assert "Idempotency-Key" in add_image(site, mod, malformed, b"image", 400)["message"]
    # Nothing of a key or of what was sent is stored.
    rows = read(site, select(IdempotencyKey))
    assert [(len(row.key_sha256), len(row.content_sha256)) for row in rows] == [(64, 64)] * 2
    # Not even a limit that was reached since refuses it.
    monkeypatch.setattr(uploads, "IMAGES", 10)
    assert add_image(site, mod, "k", b"image") == both
    assert len(stored_files(site)) == 2


def test_a_deleted_mod_is_401_as_to_strangers(site):
    # C-OWN-31
    mod = create(site, "k", title="x")
    add_image(site, mod, "k", b"image")
    # Before the key, ownership is checked.
    headers = {"Idempotency-Key": "k"}
    for caller in (site, site.as_account(OWNER + 1)):
        caller.post(mod_address(mod, "images?name=a.png"), b"image", headers=headers, status=401)
        caller.post(mod_address(mod, "images"), b"image", headers={"Idempotency-Key": "\t"}, status=401)
    site.as_account(OWNER).delete(mod_address(mod), status=204)
    absent = site.as_account(OWNER).put_json("/api/modhub/999", {}, status=401).json
    assert create(site, "k", 401, title="x") == absent
    assert add_image(site, mod, "k", b"image", 401) == absent
    create(site, "k", 409, title="y")


def test_a_key_counts_for_a_day_and_is_deleted_then(site):
    # C-OWN-31
    first = create(site, "k", title="x")
    grow_older(site, KEPT_FOR - timedelta(minutes=5))
    assert run_worker(site.registry, "expired keys")
    assert create(site, "k", title="x") == first
    grow_older(site, KEPT_FOR)
    second = create(site, "k", title="y")
    assert second["id"] != first["id"]
    assert create(site, "k", title="y") == second
    grow_older(site, KEPT_FOR)
    assert run_worker(site.registry, "expired keys")
    assert site.count_rows(IdempotencyKey) == 0
