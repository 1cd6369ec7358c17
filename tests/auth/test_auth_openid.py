"""Requests to a provider use at most two threads, for a limited time."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from modhub.base.errors import ApiError
from modhub_auth.signin import openid

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


def certificate(folder):
    """A certificate of 127.0.0.1 and its key, in one file."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(datetime.now(UTC) - timedelta(days=1))
    made = made.not_valid_after(datetime.now(UTC) + timedelta(days=1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = made.add_extension(names, critical=True).sign(key, hashes.SHA256())
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path = folder / "provider.pem"
    path.write_bytes(key.private_bytes(pem, *plain) + signed.public_bytes(pem))
    return path


def test_a_provider_over_tls(provider, tmp_path, monkeypatch):
    path = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    provider.server.socket = context.wrap_socket(provider.server.socket, server_side=True)
    provider.endpoint = provider.endpoint.replace("http:", "https:")
    assert judge(provider) == "platform_unreachable"
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    assert judge(provider) == SUBJECT
    provider.endpoint = provider.endpoint.replace("127.0.0.1", "localhost")
    assert judge(provider) == "platform_unreachable"
    assert provider.confirmed == [True]
    provider.endpoint = provider.endpoint.replace("localhost", "127.0.0.1")
    provider.trickles = True
    monkeypatch.setattr(openid, "PROVIDER_TIMEOUT_SECONDS", 0.5)
    assert judge(provider) == "platform_unreachable"
