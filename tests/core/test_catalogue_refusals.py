"""The 401 of owner calls is identical for anonymous and stranger, existing and missing mods."""

from itertools import product

import pytest

from modhub.base.errors import OwnershipLost
from modhub.catalogue.bodies import ModChange
from modhub.catalogue.owning import services
from modhub_testing.mods import OWNER, mod_address, new_mod, published_mod, upload_asset

pytestmark = pytest.mark.slow

STRANGER = 8
HIDDEN = {"date", "x-request-id"}
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
REFUSED = {"error": "unauthorized", "message": "This needs the access token of the account that it belongs to."}

MOD_CALLS = [
    ("PUT", ""),
    ("DELETE", ""),
    ("POST", "/publish"),
    ("POST", "/code?version=9"),
    ("POST", "/code"),
    ("POST", "/css"),
    ("POST", "/images"),
    ("PUT", "/captions"),
    ("PUT", "/order"),
    ("PUT", "/superseded"),
    ("GET", "/notes"),
    ("GET", "/files"),
    ("POST", "/preview"),
    ("POST", "/rehearsal"),
]
BODIES = {
    "good": {"params": b'{"title": "x", "text": "x"}', "content_type": "application/json"},
    "empty": {"params": b""},
    "garbage": {"params": b"\xff{", "content_type": "application/json"},
    "wrong types": {"params": b'{"title": 1, "requires": {}, "text": []}', "content_type": "application/json"},
    "oversize": {"params": b"[" * (9 * 1024 * 1024)},
    "form": {"params": b"--B\r\n\r\nx\r\n--B--", "content_type": "multipart/form-data; boundary=B"},
    "coded": {"params": b"x", "headers": {"Content-Encoding": "gzip"}},
}


def shown(answer):
    """All of an answer that a caller may compare."""
    headers = [(name, value) for name, value in answer.headerlist if name.lower() not in HIDDEN]
    return answer.status_int, answer.body, sorted(headers)


def call(site, method, url, **body):
    params = body.pop("params", b"")
    body.setdefault("content_type", "application/octet-stream")
    return site._gen_request(method, url, params=params, expect_errors=True, **body)


@pytest.fixture
def places(site):
    """A mod with a note and an image of the owner, one of the stranger, a deleted one."""
    mine = published_mod(site)
    image = upload_asset(site, mine, "images", PNG, content_type="image/png")["assets"][-1]
    other = published_mod(site, STRANGER)
    deleted = published_mod(site)
    site.as_account(OWNER).delete(mod_address(deleted))
    note = site.get(mod_address(mine, "changelog")).json["notes"][0]["id"]
    foreign = site.get(mod_address(other, "changelog")).json["notes"][0]["id"]
    draft = new_mod(site)
    return {
        "mine": mine["id"],
        "draft": draft["id"],
        "deleted": deleted["id"],
        "other": other["id"],
        "note": note,
        "foreign": foreign,
        "image": int(image["url"].rpartition("/")[2]),
        "code": int(mine["assets"][0]["url"].rpartition("/")[2]),
    }


def mod_ids(places):
    return [places["mine"], places["draft"], places["deleted"], 10**6, 10**17, 10**30, "abc", "-1", "%D9%A3", "1_0"]


@pytest.mark.parametrize(("method", "suffix"), MOD_CALLS)
def test_a_mod_that_is_not_the_callers_answers_as_one_that_is_not_there(site, places, method, suffix):
    # C-OWN-12, C-OWN-13, C-OWN-40, C-OWN-41, T-B3
    missing = call(site, "DELETE", "/api/modhub/1000000")
    assert (missing.status_int, missing.json) == (401, REFUSED)
    assert missing.headers["WWW-Authenticate"] == 'Bearer realm="modhub"'
    assert missing.headers["Cache-Control"] == "no-store"
    callers = {"nobody": site, "a stranger": site.as_account(STRANGER)}
    of_each = [*product(BODIES, [places["mine"], places["draft"]]), *product(["good"], mod_ids(places))]
    for name, (body, mod_id) in product(callers, of_each):
        answer = call(callers[name], method, f"/api/modhub/{mod_id}{suffix}", **BODIES[body])
        assert shown(answer) == shown(missing), f"{name}, mod {mod_id}, body {body}"


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_note_or_an_image_that_is_not_there_answers_alike_to_everybody(site, places, method):
    # C-NOTE-4, C-OWN-12, T-B3
    own, stranger = site.as_account(OWNER), site.as_account(STRANGER)
    note, foreign, mine = places["note"], places["foreign"], places["mine"]
    urls = [(own, f"{mine}/changelog/{bad}") for bad in (foreign, 10**6, 10**30, "abc", "-1")]
    urls += [(caller, f"{mine}/changelog/{note}") for caller in (site, stranger)]
    urls += [(stranger, f"{places['other']}/changelog/{note}"), (own, f"{places['draft']}/changelog/{note}")]
    urls += [(own, f"{places['deleted']}/changelog/{note}"), (own, f"abc/changelog/{note}")]
    if method == "DELETE":
        image, code = places["image"], places["code"]
        urls += [(own, f"{mine}/images/{bad}") for bad in (code, 10**6, 10**30, "abc")]
        urls += [(caller, f"{mine}/images/{image}") for caller in (site, stranger)]
        urls += [(stranger, f"{places['other']}/images/{image}"), (own, f"{places['draft']}/images/{image}")]
    sent = product(urls, BODIES.values())
    answers = [call(caller, method, f"/api/modhub/{url}", **body) for (caller, url), body in sent]
    assert [answer.status_int for answer in answers] == [401] * len(answers)
    assert len({str(shown(answer)) for answer in answers}) == 1
    assert answers[0].json == REFUSED


def test_create_and_mine_ask_for_an_account_before_anything_else(site):
    # C-OWN-13
    answers = [call(site, "POST", "/api/modhub", **body) for body in BODIES.values()]
    answers.append(site.get("/api/modhub/mine", status=401))
    assert len({str(shown(answer)) for answer in answers}) == 1
    assert answers[0].json == REFUSED


def test_a_bad_token_alone_adds_its_error(site, places):
    # C-ERR-6
    plain = call(site, "DELETE", f"/api/modhub/{places['mine']}")
    for other in ("Basic eA==", "Bearer", "Bearer "):
        answer = call(site, "DELETE", f"/api/modhub/{places['mine']}", headers={"Authorization": other})
        assert shown(answer) == shown(plain), "only a bearer token can be an invalid one"
    tokens = ("Bearer nonsense", "bearer account-", "Bearer account-7,", "Bearer account-7 x")
    for mod_id, token in product(mod_ids(places), tokens):
        headers = {"Authorization": token}
        bad = call(site, "DELETE", f"/api/modhub/{mod_id}", headers=headers)
        assert bad.headers["WWW-Authenticate"] == 'Bearer realm="modhub", error="invalid_token"'
        bad.headers["WWW-Authenticate"] = 'Bearer realm="modhub"'
        assert shown(bad) == shown(plain)


def test_somebody_elses_mod_is_refused_by_the_services_too(site, places):
    # C-OWN-12
    cleaned = ModChange(title="Taken").cleaned()
    changes = (
        services.own_mod,
        lambda session, mod_id, owner: services.edit_mod(session, mod_id, owner, cleaned),
        services.publish_mod,
        services.delete_mod,
    )
    for change, place in product(changes, ((places["mine"], STRANGER), (10**6, OWNER), (None, OWNER))):
        with pytest.raises(OwnershipLost), site.databases.write_session.begin() as session:
            change(session, *place)
    assert site.get(f"/api/modhub/{places['mine']}").json["title"] != "Taken"
