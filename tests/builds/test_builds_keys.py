"""Who may publish: ``no_api_key`` and ``unknown_api_key`` for every machine call."""

from modhub_testing import stored_files

CALLS = {
    "a build": ("POST", "/api/modhub/app/windows"),
    "a build for an implausible system": ("POST", "/api/modhub/app/NO%0A"),
    "a section": ("POST", "/api/modhub/app/changelog"),
    "taking back": ("DELETE", "/api/modhub/app/changelog"),
}
WRONG = {
    "empty": "",
    "prefix": "the-agents-ke",
    "wrong scope": "wiki-key",
    "the line of the setting": "both-key Modhub:wiki Modhub:app",
    "not ASCII": "the-agents-k\u00e9y",
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


def test_with_a_key_that_is_refused(site):
    # C-APP-2, C-KEY-2, C-KEY-1, T-C11
    for name in CALLS:
        assert call(site, name, None, 401).body == b'{"error":"no_api_key"}'
        answers = [call(site, name, key, 401) for key in WRONG.values()]
        assert {answer.body for answer in answers} == {b'{"error":"unknown_api_key"}'}
        assert {answer.headers["WWW-Authenticate"] for answer in answers} == {'ApiKey realm="modhub"'}
    assert untouched(site)
