"""The proxies that the environment names: ``http_proxy``, ``https_proxy``, ``all_proxy`` and ``no_proxy``."""

import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from modhub_client.get.outcome import ExitCode, GetError


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """Where requests are sent instead of to the service; ``headers`` are for the proxy alone."""

    host: str
    port: int
    headers: Mapping[str, str]


def find_proxy(scheme: str, host: str) -> ProxyRoute | None:
    """The proxy for this host; None for this machine and for hosts that are excepted."""
    settings = getproxies()
    proxy = settings.get(scheme) or settings.get("all")
    if not proxy or is_this_machine(host) or proxy_bypass(host):
        return None
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        port = address.port or 80
    except ValueError:
        port = 0
    if address.scheme != "http" or not address.hostname or not port:
        raise GetError(ExitCode.WRONG_CALL, f"The proxy of the environment for {scheme} is not http://HOST:PORT.")
    headers = {}
    if address.username is not None:
        credentials = f"{unquote(address.username)}:{unquote(address.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(credentials.encode()).decode()}"
    return ProxyRoute(address.hostname, port, headers)


def is_this_machine(host: str) -> bool:
    """Whether this is the machine itself, which no proxy reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
