"""The environment's proxies, as in modhub-get: ``http_proxy``, ``https_proxy``, ``all_proxy`` and ``no_proxy``."""

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from modhub_client.verify.outcomes import WrongUse


@dataclass(frozen=True, slots=True)
class ProxyAddress:
    """Where requests are sent instead of to the service; ``headers`` are for the proxy alone."""

    host: str
    port: int
    headers: Mapping[str, str]


def choose_proxy(scheme: str, host: str) -> ProxyAddress | None:
    """The proxy for this host; None for this machine and for hosts that are excepted."""
    settings = getproxies()
    proxy = settings.get(scheme) or settings.get("all")
    if not proxy or _is_loopback(host) or proxy_bypass(host):
        return None
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        port = address.port or 80
    except ValueError:
        port = 0
    if address.scheme != "http" or not address.hostname or not port:
        raise WrongUse(f"The proxy of the environment for {scheme} is not http://HOST:PORT.")
    headers = {}
    if address.username is not None:
        credentials = f"{unquote(address.username)}:{unquote(address.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
    return ProxyAddress(address.hostname, port, headers)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
