"""Which assertions of a provider are believed, and how it is asked about them."""

import ssl
from datetime import UTC, datetime, timedelta

from modhub_auth.signin import openid
from modhub_testing.commands import issue_certificate

from .conftest import judge
from .openid_provider import SIGNED, SUBJECT


def test_an_assertion_that_says_something_else_is_refused(provider):
    for edited in (
        {"mode": "cancel"},
        {"mode": "setup_needed"},
        {"ns": "http://openid.net/signon/1.1"},
        {"op_endpoint": "https://evil.example.org/openid/login"},
        {"return_to": "https://evil.example.org/"},
        {"identity": "https://steamcommunity.com/openid/id/7"},
        {"claimed_id": "https://evil.example.org/openid/id/7", "identity": "https://evil.example.org/openid/id/7"},
        {"claimed_id": "https://steamcommunity.com@evil.example.org/openid/id/7"},
        {"claimed_id": "https://steamcommunity.com/openid/id/x", "identity": "https://steamcommunity.com/openid/id/x"},
        {"response_nonce": f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}x"},
        {"response_nonce": "x"},
        {"response_nonce": "9999-99-99T99:99:99Zx"},
        *({"signed": [name for name in SIGNED if name != missing]} for missing in SIGNED),
    ):
        assert judge(provider, **edited) == 403, edited
    assert judge(provider, more="&openid.identity=x") == 403
    assert provider.confirmed == []


def test_what_the_provider_did_not_sign_is_refused(provider):
    other = "https://steamcommunity.com/openid/id/7"
    for forged in ({"openid.claimed_id": other, "openid.identity": other}, {"openid.sig": "AAAA"}):
        assert judge(provider, forged) == 403, forged
    assert provider.confirmed == [False, False]


def test_a_provider_over_tls(provider, tmp_path, monkeypatch):
    made = issue_certificate(tmp_path, "provider.example.org")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    provider.server.socket = context.wrap_socket(provider.server.socket, server_side=True)
    provider.endpoint = provider.endpoint.replace("http:", "https:")
    assert judge(provider) == 503
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    assert judge(provider) == SUBJECT
    provider.endpoint = provider.endpoint.replace("127.0.0.1", "localhost")
    assert judge(provider) == 503
    assert provider.confirmed == [True]
    provider.endpoint = provider.endpoint.replace("localhost", "127.0.0.1")
    provider.trickles = True
    monkeypatch.setattr(openid, "PROVIDER_TIMEOUT_SECONDS", 0.5)
    assert judge(provider) == 503
