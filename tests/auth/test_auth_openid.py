"""Requests to a provider use at most two threads, for a limited time."""

import ssl
from urllib.parse import urlencode

from modhub.base.errors import ApiError
from modhub_auth.signin import openid
from modhub_testing.commands import issue_certificate

from .openid_provider import SUBJECT

RETURN_TO = "http://127.0.0.1:6543/Modhub/account/platform/steam?state=x"


def judge(provider, steam=None):
    """The code of the refusal; else the subject."""
    steam = steam or openid.Steam(provider.endpoint)
    fields = provider.assertion(steam.sign_in_url(RETURN_TO, "http://127.0.0.1:6543"))
    try:
        return steam.verify(urlencode(fields), RETURN_TO).subject
    except ApiError as refusal:
        return refusal.code


def test_a_provider_over_tls(provider, tmp_path, monkeypatch):
    made = issue_certificate(tmp_path, "provider.example.org")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    provider.server.socket = context.wrap_socket(provider.server.socket, server_side=True)
    provider.endpoint = provider.endpoint.replace("http:", "https:")
    assert judge(provider) == "platform_unreachable"
    monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
    assert judge(provider) == SUBJECT
    provider.endpoint = provider.endpoint.replace("127.0.0.1", "localhost")
    assert judge(provider) == "platform_unreachable"
    assert provider.confirmed == [True]
    provider.endpoint = provider.endpoint.replace("localhost", "127.0.0.1")
    provider.trickles = True
    monkeypatch.setattr(openid, "PROVIDER_TIMEOUT_SECONDS", 0.5)
    assert judge(provider) == "platform_unreachable"
