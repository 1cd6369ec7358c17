"""How long the certificate of ``modhub.base_url`` is valid, asked every six hours in the background (C-RUN-49)."""

import socket
import ssl
from time import time
from typing import Any, Final
from urllib.parse import urlsplit

from pyramid.config import Configurator

from modhub.base.service_registry import find_service

ASK_SECONDS: Final = 6 * 3600.0
_ANSWER_SECONDS: Final = 10.0


class CertificateTimes:
    """What this process knows of the certificate; ``expires_at`` is None until it has been asked."""

    def __init__(self) -> None:
        self.expires_at: float | None = None


def ask_certificate(registry: Any) -> None:
    """The round of the worker. Where nobody answers, what was known stays: ``doctor`` tells why."""
    url = urlsplit(registry.settings["modhub.base_url"])
    times = find_service(registry, CertificateTimes)
    try:
        times.expires_at = expiry_time(url.hostname or "", url.port or 443)
    except ssl.SSLCertVerificationError:
        # Expired, of another host, or of an authority that nobody knows: no client trusts it.
        times.expires_at = time()
    except OSError:
        return


def expiry_time(host: str, port: int) -> float:
    """When the certificate expires, in seconds since 1970; `ssl.SSLCertVerificationError` if it is not trusted."""
    context = ssl.create_default_context()
    with (
        socket.create_connection((host, port), timeout=_ANSWER_SECONDS) as connection,
        context.wrap_socket(connection, server_hostname=host) as secured,
    ):
        certificate: Any = secured.getpeercert()
    return float(ssl.cert_time_to_seconds(certificate["notAfter"]))


def _seconds_left(registry: Any) -> float | None:
    expires_at = find_service(registry, CertificateTimes).expires_at
    return None if expires_at is None else max(0.0, expires_at - time())


def includeme(config: Configurator) -> None:
    """Register the worker and the metric, where there is a certificate."""
    if not config.registry.settings["modhub.base_url"].startswith("https:"):
        return
    config.add_service(CertificateTimes, CertificateTimes())
    config.add_worker("certificate", ask_certificate, ASK_SECONDS)
    help_text = "Seconds until no client trusts the certificate of modhub.base_url; 0: none does now."
    config.add_metric("certificate_seconds", help_text, _seconds_left)
