"""Advisories as programs read them: by five digits, in the export, and in feeds."""

import json
from base64 import b64decode, b64encode
from xml.etree import ElementTree

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from modhub.base.errors import ApiError
from modhub.db.changes import ChangeReader
from modhub_moderation.advisories import services
from modhub_moderation.advisories.models import EMPTY_FILE, AdvisoryKind

from .advisory_site import API, DIGEST, FEATURES, advise, listed, withdraw

ATOM = "{http://www.w3.org/2005/Atom}"
SAME_PREFIX = DIGEST[:5] + "f" * 59
NEXT_PREFIX = f"{int(DIGEST[:5], 16) + 1:05x}" + "0" * 59
KEY = b64encode(bytes(range(32))).decode()


@pytest.fixture
def site(start):
    return start(FEATURES)


def test_a_withdrawn_advisory_says_so_and_may_stand_again(site):
    # C-ADV-1, C-ADV-2
    advise(site, DIGEST)
    assert advise(site, DIGEST, reason="Something else") == []
    (standing,) = listed(site)
    assert withdraw(site, DIGEST.upper(), SAME_PREFIX) == [DIGEST]
    assert withdraw(site, DIGEST) == []
    (withdrawn,) = listed(site)
    assert withdrawn == {**standing, "withdrawnAt": withdrawn["withdrawnAt"]}
    assert withdrawn["withdrawnAt"] > standing["since"]
    assert advise(site, DIGEST, reason="Something else", kind=AdvisoryKind.OTHER) == [DIGEST]
    (again,) = listed(site)
    assert (again["kind"], again["reason"], again["withdrawnAt"]) == ("other", "Something else", None)
    assert again["since"] > withdrawn["withdrawnAt"]


def test_what_makes_no_sense_is_refused_and_nothing_is_made(site):
    # C-ADV-1, T-G9
    wrong = [(EMPTY_FILE, {}), (DIGEST + "\n", {})]
    wrong += [(DIGEST, {"reason": " \n"}), (DIGEST, {"advice": "x" * 501})]
    for digest, texts in wrong:
        with pytest.raises(ApiError) as refused:
            advise(site, NEXT_PREFIX, digest, **texts)
        assert (refused.value.status, refused.value.code) == (400, "invalid_input")
    assert site.get(API).json == {"advisories": [], "changedAt": None, "signature": None}
    assert advise(site, DIGEST, advice="x" * 500) == [DIGEST]


def test_an_undone_decision_withdraws_its_own(site):
    advise(site, DIGEST)
    advise(site, DIGEST, SAME_PREFIX, decision_id=3)
    advise(site, NEXT_PREFIX, decision_id=4)
    with site.databases.write_session.begin() as session:
        assert services.withdraw_advisories_of(session, [3]) == [SAME_PREFIX]
        assert services.withdraw_advisories_of(session, [5]) == []
    standing = [told["sha256"] for told in site.get(API).json["advisories"] if not told["withdrawnAt"]]
    assert standing == sorted([DIGEST, NEXT_PREFIX])


def test_a_change_moves_the_serial_and_is_in_no_list_of_changes(start):
    # C-ADV-3
    site = start(f"{FEATURES} modhub_sync")
    reader = site.find_service(ChangeReader)
    before = reader.generation()[0]
    advise(site, DIGEST)
    assert reader.generation()[0] == before + 1
    assert site.get("/api/modhub/changes?since=0").json["changes"] == []


@pytest.mark.postgres
def test_a_change_is_seen_at_once_by_all_processes(site, start):
    # C-ADV-3
    other = start(FEATURES, url=str(site.registry.settings["sqlalchemy.url"]), fresh=True)
    for _ in range(2):
        assert (listed(other), other.get(API).json["advisories"]) == ([], [])
    advise(site, DIGEST)
    for _ in range(2):
        assert [told["withdrawnAt"] for told in (*listed(other), *other.get(API).json["advisories"])] == [None, None]
    withdraw(site, DIGEST)
    assert None not in [told["withdrawnAt"] for told in (*listed(other), *other.get(API).json["advisories"])]


def test_the_export_is_signed_as_the_pointer_to_the_snapshot(start):
    # C-ADV-4
    site = start(f"{FEATURES} modhub_sync", modhub_sync__signing_key=KEY)
    advise(site, NEXT_PREFIX, DIGEST, reason='Schöne "Grüße"\\ \u2028 & <b>')
    withdraw(site, DIGEST)
    export = site.get(API).json
    assert len(export["advisories"]) == 2
    public = Ed25519PublicKey.from_public_bytes(b64decode(site.get("/api/modhub/snapshot/key").json["publicKey"]))
    signature = b64decode(export.pop("signature"))
    public.verify(signature, canonical(export))
    export["advisories"].pop()
    with pytest.raises(InvalidSignature):
        public.verify(signature, canonical(export))


def canonical(document):
    return json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def test_the_feeds_have_what_was_changed_last_first(site):
    # C-ADV-5, C-PAGE-17
    advise(site, DIGEST, reason="A & <b>")
    advise(site, NEXT_PREFIX, kind=AdvisoryKind.VULNERABLE)
    withdraw(site, DIGEST)
    entries = ElementTree.fromstring(site.get("/Modhub/advisories/feed").body).findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [
        f"Withdrawn: Malware: {DIGEST}",
        f"Vulnerable: {NEXT_PREFIX}",
    ]
    assert entries[0].findtext(f"{ATOM}updated") == listed(site)[0]["withdrawnAt"]
    assert entries[0].findtext(f"{ATOM}summary") == "A & <b> Delete the file."
    items = site.get("/Modhub/advisories/feed.json").json["items"]
    assert [item["id"] for item in items] == [entry.findtext(f"{ATOM}id") for entry in entries]
    page = site.get("/Modhub/advisories")
    for kind, suffix in (("atom+xml", ""), ("feed+json", ".json")):
        link = page.html.find("link", type=f"application/{kind}")
        assert link["href"] == f"/Modhub/advisories/feed{suffix}"
    assert all(page.html.find(id=item["url"].partition("#")[2]) for item in items)
