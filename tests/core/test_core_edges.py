"""Regression tests of edge cases."""

import sys
from types import ModuleType
from typing import Any

import pytest

from modhub.base.settings import StartRefused
from modhub_testing import Site, Start
from modhub_testing.mods import OWNER, mod_address, new_mod, notes_of_mod, published_mod, upload_asset


@pytest.mark.parametrize("boundary", ["", "; boundary=", "; boundary=" + "x" * 300, "; boundary=\xe9"])
def test_a_form_without_a_usable_boundary_is_400(site: Site, boundary: str) -> None:
    headers = {"Content-Type": "multipart/form-data" + boundary, "Cookie": "account=1"}
    answer = site.post("/Modhub/mine/new", b"x", headers=headers, status=400)
    assert answer.content_type == "text/html"


def test_an_unknown_key_under_the_name_of_a_feature_without_settings_stops_the_start(start: Start) -> None:
    with pytest.raises(StartRefused, match=r"modhub_quiet\.nonsense"):
        start("tests_quiet_feature", **{"modhub_quiet.nonsense": "1"})


@pytest.fixture(autouse=True)
def quiet_feature(monkeypatch: pytest.MonkeyPatch) -> None:
    """A feature that declares no setting."""
    feature = ModuleType("tests_quiet_feature")

    def includeme(config: Any) -> None:
        config.include("modhub")
        config.add_feature("modhub_quiet", "Quiet")

    feature.includeme = includeme  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tests_quiet_feature", feature)


def test_not_modified_names_no_length(site: Site) -> None:
    for path in ("/api/modhub", "/api/modhub/games"):
        etag = site.get(path).headers["ETag"]
        answer = site.get(path, headers={"If-None-Match": etag}, status=304)
        assert "Content-Length" not in answer.headers
        assert answer.headers["ETag"] == etag


def test_pages_elsewhere_may_read_that_there_is_no_file(site: Site) -> None:
    for path in ("/Modhub/file/999999", "/Modhub/game-icon/99"):
        answer = site.get(path, status=404)
        assert answer.headers.getall("Access-Control-Allow-Origin") == ["*"]
        assert answer.headers.getall("Cross-Origin-Resource-Policy") == ["cross-origin"]
        preflight = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": "GET"}
        assert site.options(path, headers=preflight, status=204).headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Origin" not in site.get("/Modhub/999", status=404).headers


@pytest.mark.parametrize("sent", ["Basic eA==", "Token x", "x", "Bearer", "Bearer "])
def test_only_a_bearer_token_can_be_an_invalid_one(site: Site, sent: str) -> None:
    # C-ERR-6
    answer = site.get("/api/modhub/mine", headers={"Authorization": sent}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    answer = site.get("/api/modhub/mine", headers={"Authorization": "bearer wrong"}, status=401)
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="modhub", error="invalid_token"'


def test_ones_own_vote_is_refused_before_it_is_read(site: Site) -> None:
    mod = published_mod(site, OWNER)
    assert (
        site.as_account(OWNER).put_json(mod_address(mod, "vote"), {"value": 7}, status=403).json["error"] == "own_mod"
    )
    site.as_account(OWNER + 1).put_json(mod_address(mod, "vote"), {"value": 7}, status=400)


def test_any_edit_of_an_entry_makes_it_its_authors(site: Site) -> None:
    # C-NOTE-3
    mod = published_mod(site, OWNER)
    entry = notes_of_mod(site, mod)[0]
    changed = site.as_account(OWNER).put_json(mod_address(mod, "changelog", entry["id"]), {}, status=200).json
    assert (changed["automatic"], changed["title"], changed["text"]) == (False, entry["title"], entry["text"])
    assert changed["editedAt"] is not None


def test_what_is_sent_is_judged_before_the_store_that_is_missing(start: Start) -> None:
    site = start(modhub__storage="")
    mod = new_mod(site, OWNER)
    upload_asset(site, mod, "code", content=b"", version="1", status=400)
    upload_asset(site, mod, "css", content=b"x" * 300_000, status=413)
    answer = upload_asset(site, mod, "code", content=b"x", version="1", status=503)
    assert answer["error"] == "storage_not_configured"
