"""Looking mods up by GUID, and asking which of those that one has have changed."""

import json
import uuid

import pytest

from modhub_testing.mods import (
    OWNER,
    hide_mod,
    insert_mods,
    mod_address,
    new_mod,
    published_mod,
    restore_mod,
    upload_asset,
)
from tests.owning import edit_mod

from .conftest import plan

ABSENT = "01234567-89AB-cdef-0123-456789abcdef"
LOOKUP, UPDATES = "/api/modhub/lookup", "/api/modhub/updates"


def sha256(site, mod):
    return str(site.get(mod_address(mod, "download")).headers["ETag"].strip('"'))


def updates(site, *have):
    return site.post_json(UPDATES, {"have": list(have)}, status=200).json


def test_what_is_not_public_looks_like_what_is_not_there(site):
    # C-SYNC-1, C-SYNC-16
    draft, mod = new_mod(site), published_mod(site)
    hide_mod(site, mod)
    absent = site.get(f"/api/modhub/guid/{ABSENT}", status=404)
    assert absent.json["error"] == "not_found"
    names = (draft["guid"], mod["guid"], "x", draft["guid"] + "0", "%0a" + draft["guid"], draft["guid"] + "/x")
    for name in names:
        for caller in (site, site.as_account(OWNER)):
            assert caller.get(f"/api/modhub/guid/{name}", status=404).json == absent.json, name
    site.get("/api/modhub/guid", status=404)
    guids = [draft["guid"], mod["guid"]]
    assert site.post_json(LOOKUP, {"guids": guids}).json == {"mods": [], "missing": guids}
    assert updates(site, *({"guid": guid} for guid in guids)) == {"changed": [], "gone": guids, "same": 0}
    restore_mod(site, mod)
    assert site.post_json(LOOKUP, {"guids": guids}).json["missing"] == [draft["guid"]]


def test_the_changelog_of_a_changed_mod_has_what_is_new_to_the_caller(site):
    # C-SYNC-3
    mod, other = published_mod(site, version="1"), published_mod(site)
    digests = {"1": sha256(site, mod)}
    for version in "234567":
        upload_asset(site, mod, "code", version.encode(), version=version)
        digests[version] = sha256(site, mod)

    def titles(**have):
        (changed,) = updates(site, {"guid": other["guid"], "version": "1"}, {"guid": mod["guid"], **have})["changed"]
        return [note["title"] for note in changed["changelog"]]

    assert titles(version="5") == titles(sha256=digests["5"]) == ["7", "6"]
    assert titles(version="1") == titles(sha256="0" * 64) == titles() == ["7", "6", "5", "4", "3"]


def relations_of(site, mod):
    return plan(site, mod["guid"])["steps"][-1]["relations"]


def test_a_check_tells_other_requirements_and_conflicts(site):
    # C-SYNC-17
    base, rival, mod = published_mod(site), published_mod(site), published_mod(site)
    known = relations_of(site, mod)
    have = {"guid": mod["guid"].upper(), "sha256": sha256(site, mod), "relations": known}
    plain = {"guid": base["guid"], "sha256": sha256(site, base)}
    alike = {"changed": [], "gone": [], "same": 2}
    assert updates(site, have, plain) == {**alike, "relationsChanged": [], "relations": []}
    for fields in ({"requires": [base["guid"]]}, {"conflictsWith": [rival["guid"]]}, {"requires": []}):
        edit_mod(site, mod, **fields)
        now = relations_of(site, mod)
        assert now != known
        answer = updates(site, have | {"relations": known}, plain)
        theirs = [{"guid": mod["guid"], "relations": now}]
        assert answer == {**alike, "relationsChanged": [mod["guid"]], "relations": theirs}
        known = now
    edit_mod(site, mod, title="Another title", description="Other words.")
    assert updates(site, have | {"relations": known})["relationsChanged"] == []
    # Nor do order and case count.
    listed = [base["guid"], rival["guid"]]
    edit_mod(site, mod, requires=listed, conflictsWith=[])
    known = relations_of(site, mod)
    for spelled in (listed[::-1], [guid.upper() for guid in listed]):
        edit_mod(site, mod, requires=spelled)
        assert relations_of(site, mod) == known
    edit_mod(site, mod, requires=[], conflictsWith=listed)
    assert relations_of(site, mod) != known


@pytest.mark.postgres
def test_the_number_of_statements_is_constant(site):
    # C-SYNC-16, C-SYNC-3, C-SYNC-17
    ids = insert_mods(site, [{"version": "1"}] * 30)
    mods = [published_mod(site) for _ in range(3)]
    guids = [site.get(f"/api/modhub/{number}").json["guid"] for number in ids] + [mod["guid"] for mod in mods]
    for sent in (guids[-1:], guids):
        for path, body, count in (
            (LOOKUP, {"guids": sent}, 2),
            (UPDATES, {"have": [{"guid": guid, "version": "1"} for guid in sent]}, 1),
            (UPDATES, {"have": [{"guid": guid, "version": "1", "relations": ""} for guid in sent]}, 4),
            (UPDATES, {"have": [{"guid": guid} for guid in sent]}, 2),
        ):
            with site.counted() as statements:
                site.post_json(path, body)
            assert len(statements) == count, body
    for count in (4, 1):  # The serial, the id, the chain, its documents; then it is kept until the serial moves.
        with site.counted() as statements:
            site.get(f"/api/modhub/guid/{guids[0]}")
        assert len(statements) == count


def test_what_is_too_much_for_a_question_is_400(site):
    # C-SYNC-16; other bodies are refused to modhub-verify
    site.post_json(UPDATES, {"have": [{"guid": ABSENT}] * 501}, status=400)
    entries = [{"guid": ABSENT, "version": "", "sha256": "0" * 64}] * 5_001
    site.post_json("/api/modhub/plan/check", {"lock": {"entries": entries}}, status=400)


def test_five_hundred_are_answered_and_a_large_body_is_413(site):
    guids = [str(uuid.uuid4()) for _ in range(500)]
    assert site.post_json(LOOKUP, {"guids": guids}).json == {"mods": [], "missing": guids}
    longest = {"version": "\N{GRINNING FACE}" * 64, "sha256": "0" * 64}
    have = json.dumps({"have": [{"guid": guid, **longest} for guid in guids]}, ensure_ascii=False).encode()
    assert site.post(UPDATES, have).json["gone"] == guids
    large = {"lookup": 256 * 1024, "updates": 256 * 1024, "plan": 1024**2, "plan/check": 1024**2}
    for path, limit in large.items():
        answer = site.post(f"/api/modhub/{path}", b" " * (limit + 1), status=413)
        assert answer.json["limitBytes"] == limit
