"""Connections to a service: its address, the proxy that the environment names, and how a request is sent.

Programs differ in what they try again, and when: that is theirs. Certificates and host names are checked, and no
redirect is ever followed.
"""

import http.client
import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from modhub_client import __version__
from modhub_client.output import WrongUse

BLOCK: Final = 256 * 1024
"""Bytes of a file that are sent at a time."""


class Transport:
    """Opens connections to the service at ``url``. ``timeout``: the seconds that each of their steps may take."""

    def __init__(self, url: str, program: str, timeout: float) -> None:
        try:
            address = urlsplit(url)
        except ValueError:
            address = urlsplit("")
        self._port = _port_of(address)
        host = address.hostname
        has_extras = "@" in address.netloc or address.query or address.fragment
        if address.scheme not in {"http", "https"} or not host or self._port is None or has_extras:
            raise WrongUse("The service's address must be like https://mods.example.org: no user name, no query.")
        self.url = url.rstrip("/")
        self.host = host
        """Its name or number, without a port and brackets."""
        self.is_private = address.scheme == "https" or is_this_machine(host)
        """Whether nobody on the way can read what is sent."""
        self._secure = address.scheme == "https"
        self._headers = {"User-Agent": f"{program}/{__version__}", "Accept-Encoding": "identity"}
        self._timeout = timeout
        self._prefix = address.path.rstrip("/")
        self._proxy = _find_proxy(address.scheme, host)
        self._for_proxy = _credentials_of(self._proxy) if self._proxy else {}
        if self._proxy and not self._secure:
            self._prefix = f"http://{address.netloc}{self._prefix}"
            self._headers |= self._for_proxy

    @property
    def through(self) -> str:
        """Which proxy is asked, for a sentence; empty without one."""
        return f" through the proxy {self._proxy.hostname}:{_port_of(self._proxy)}" if self._proxy else ""

    def new_connection(self) -> http.client.HTTPConnection:
        """A connection, which connects when it is used, and again after it was closed."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        host, port = (self._proxy.hostname or "", _port_of(self._proxy)) if self._proxy else (self.host, self._port)
        connection = kind(host, port, timeout=self._timeout, blocksize=BLOCK)
        if self._proxy and self._secure:
            connection.set_tunnel(self.host, self._port, self._for_proxy)
        return connection

    def send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, Any] | None = None,
    ) -> http.client.HTTPResponse:
        """Send a request and return the response with its body unread; ``OSError`` or ``HTTPException`` if it fails."""
        # A header of the caller replaces the default, in any spelling.
        own = {name.title(): value for name, value in (headers or {}).items()}
        try:
            connection.request(method, self._prefix + path, body, self._headers | own)
        except (BrokenPipeError, ConnectionResetError):
            # A refusal may come before the whole body was taken: it is read in any case.
            if connection.sock is None:
                raise
        return connection.getresponse()


def is_this_machine(host: str) -> bool:
    """Whether this is the machine itself, which no proxy reaches."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _port_of(address: SplitResult) -> int | None:
    """The port; that of the scheme if none is named, None if it is no number."""
    try:
        return address.port or (443 if address.scheme == "https" else 80)
    except ValueError:
        return None


def _find_proxy(scheme: str, host: str) -> SplitResult | None:
    """The proxy of ``http_proxy``, ``https_proxy`` or ``all_proxy``; None for this machine and for ``no_proxy``."""
    settings = getproxies()
    proxy = settings.get(scheme) or settings.get("all")
    if not proxy or is_this_machine(host) or proxy_bypass(host):
        return None
    address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    if address.scheme != "http" or not address.hostname or not _port_of(address):
        raise WrongUse(f"The proxy of the environment for {scheme} is not http://HOST:PORT.")
    return address


def _credentials_of(proxy: SplitResult) -> dict[str, str]:
    if proxy.username is None:
        return {}
    credentials = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(credentials.encode()).decode()}"}
