"""Machine keys and the address key."""

import pytest

from modhub.base.identity import CredentialKind
from modhub.plugins.resources import IApi
from modhub.plugins.security import MACHINE_KEY_REALM
from modhub.web.request import Request

pytestmark = pytest.mark.slow

KEYS = "first-key\n\n   \nwiki-key Modhub:wiki\n  both-key   Modhub:wiki  Modhub:app\nschlüssel-ключ\n"
ADDRESS_KEY = "the-address-key"


CALLS = {
    "app": ("POST", "/api/modhub/app/changelog"),
    "wiki": ("PUT", "/Modhub/api/wiki/page"),
    "report": ("POST", "/api/modhub/storage/address"),
}


@pytest.fixture
def keyed(start):
    """With a call for each kind of key."""
    return start("modhub_builds modhub_wiki", ApiPrivateKeys=KEYS, modhub__storage_address_key=ADDRESS_KEY)


def ask(site, url, key, method="GET", body=b""):
    headers = {}
    if key is not None:
        raw = key if isinstance(key, bytes) else key.encode()
        headers["X-Api-Key"] = raw.decode("latin-1")
    answer = site._gen_request(method, url, params=body, headers=headers, expect_errors=True)
    if answer.status_int == 401:
        assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="modhub"'
        assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_int, answer.json


def refused(code):
    return 401, {"error": code}


def test_the_key_test_takes_any_valid_key_whole_and_nothing_else(keyed):
    # C-KEY-2, C-KEY-3, T-C11
    for good in ("first-key", "wiki-key", "both-key", "schlüssel-ключ"):
        assert ask(keyed, "/api/modhub/key", good) == (200, {"ok": True})
    bad = ["", " ", "first-ke", "first-key2", "First-key", "first-key, wiki-key", "wiki-key Modhub:wiki", "\t"]
    bad += ["Modhub:wiki", ADDRESS_KEY, "schlussel", "x" * 200_000, "first-key\x00", "first-key "]
    for key in (*bad, b"\xff\xfe", b"first-key\xff"):
        assert ask(keyed, "/api/modhub/key", key) == refused("unknown_api_key"), key
    assert ask(keyed, "/api/modhub/key", None) == refused("no_api_key")
    bearer = keyed.get("/api/modhub/key", headers={"Authorization": "Bearer first-key"}, status=401)
    assert bearer.json == {"error": "no_api_key"}
    assert keyed.post("/api/modhub/key", status=405).headers["Allow"] == "GET, HEAD"


def test_scopes_open_what_they_name_and_nothing_else(keyed):
    # C-KEY-1, T-C11
    body = b'{"baseUrl": "https://files.example.org"}'
    opens = {"first-key": {"app"}, "wiki-key": {"wiki"}, "both-key": {"app", "wiki"}, ADDRESS_KEY: {"report"}}
    for name, (method, url) in CALLS.items():
        for key, allowed in opens.items():
            answer = ask(keyed, url, key, method, body)
            assert answer[0] in {200, 201} if name in allowed else answer == refused("unknown_api_key"), (key, name)
        assert ask(keyed, url, None, method, body) == refused("no_api_key")


def test_the_scopes_of_a_key_without_one_are_the_features_to_say(start):
    def scopes(includes):
        site = start(includes, ApiPrivateKeys="bare\nwiki Modhub:wiki")
        assert ask(site, "/api/modhub/key", "bare") == (200, {"ok": True})
        credential = site.declarations.credentials[CredentialKind.MACHINE, IApi]
        principals = credential.identify(Request.blank("/", headers={"X-Api-Key": "bare"})).principals
        return set(principals) - {MACHINE_KEY_REALM}

    assert scopes("") == set()
    assert scopes("modhub_wiki") == set()
    assert scopes("modhub_wiki modhub_builds") == {"scope:Modhub:app"}
