"""Who may publish: ``no_api_key`` and ``unknown_api_key`` for every machine call."""

import pytest

from modhub_testing import stored_files

CALLS = {
    "a build": ("POST", "/api/modhub/app/windows"),
    "a build for an implausible system": ("POST", "/api/modhub/app/NO%0A"),
    "a section": ("POST", "/api/modhub/app/changelog"),
    "taking back": ("DELETE", "/api/modhub/app/changelog"),
}
WRONG = {
    "wrong": "not-the-key",
    "empty": "",
    "blank": "   ",
    "prefix": "the-agents-ke",
    "longer": "the-agents-key1",
    "other capitals": "THE-AGENTS-KEY",
    "wrong scope": "wiki-key",
    "address key": "address-key",
    "a list": "the-agents-key, the-agents-key",
    "the line of the setting": "both-key Modhub:wiki Modhub:app",
    "not ASCII": "the-agents-k\u00e9y",
    "a scope": "Modhub:app",
    "long": "x" * 100_000,
}


def call(site, name, key, status):
    method, path = CALLS[name]
    environ = {} if key is None else {"HTTP_X_API_KEY": key}
    return site.request(
        path,
        method=method,
        body=b"body" if method == "POST" else b"",
        environ=environ,
        status=status,
        expect_errors=True,
    )


def untouched(site):
    return site.get("/api/modhub/app").json == {"builds": [], "changelog": ""} and stored_files(site) == []


def test_without_a_header(site):
    # C-ERR-2, C-KEY-2, T-C11
    for name in CALLS:
        answer = call(site, name, None, 401)
        assert answer.body == b'{"error":"no_api_key"}'
        assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="modhub"'
        assert answer.headers["Cache-Control"] == "no-store"
    assert untouched(site)


@pytest.mark.parametrize("name", CALLS)
def test_with_a_key_that_is_refused(site, name):
    # C-APP-2, C-KEY-2, C-KEY-4, T-C11
    for kind, key in WRONG.items():
        answer = call(site, name, key, 401)
        assert answer.body == b'{"error":"unknown_api_key"}', kind
        assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="modhub"'
    assert untouched(site)


@pytest.mark.parametrize("keys", ["", "\n \n\t\n", "wiki-key Modhub:wiki"])
def test_a_server_without_keys_tells_the_same(start, keys):
    site = start("modhub_builds", ApiPrivateKeys=keys)
    for name in CALLS:
        for key in ("", " ", "the-agents-key", "wiki-key"):
            assert call(site, name, key, 401).body == b'{"error":"unknown_api_key"}'
        assert call(site, name, None, 401).body == b'{"error":"no_api_key"}'


def test_a_bearer_token_opens_nothing_here(start):
    site = start("modhub_testing.accounts modhub_builds", ApiPrivateKeys="k")
    for name in CALLS:
        assert call(site.as_account(1), name, None, 401).body == b'{"error":"no_api_key"}'


@pytest.mark.parametrize("key", ["the-agents-key", "both-key"])
def test_a_key_with_the_scope_publishes(site, key):
    call(site, "a build", key, 201)
    call(site, "a section", key, 201)
    call(site, "taking back", key, 200)


def test_every_valid_key_passes_the_key_test_and_it_changes_nothing(site):
    # C-KEY-3
    for key in ("the-agents-key", "wiki-key", "both-key"):
        assert site.get("/api/modhub/key", headers={"X-Api-Key": key}).json == {"ok": True}
    assert untouched(site)


def test_reads_look_at_no_key(site):
    for headers in ({}, {"X-Api-Key": "wrong"}, {"Authorization": "Bearer wrong"}):
        assert site.get("/api/modhub/app", headers=headers).json == {"builds": [], "changelog": ""}


def test_the_scope_is_named_for_the_operator(site):
    assert "Modhub:app" in site.declarations.scopes
