"""``modhub-admin doctor``: the proxy in front, as the ini describes it and as seen through ``modhub.base_url``."""

import configparser
import http.client
import json
import logging
import ssl
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from functools import partial
from time import time
from typing import Any, Final
from urllib.parse import urlsplit

from pyramid.config import Configurator
from sqlalchemy.exc import SQLAlchemyError

from modhub.base.service_registry import find_service
from modhub.base.settings import is_loopback
from modhub.content.limits import CODE, MB
from modhub.db import Databases, now
from modhub.ops import certificate, observations
from modhub.ops.start_checks import base_url_warnings
from modhub.server.rules import IBodyRules

log = logging.getLogger(__name__)
CERTIFICATE_DAYS: Final = 14
"""As in deploy/alerts.yml. certbot renews 30 days before."""
UNTRUSTED: Final = "untrusted proxy"
"""The observation that a process received forwarding headers of a nearby peer that it does not trust."""
FORGET_AFTER: Final = timedelta(hours=2)
"""The server reports it once an hour as long as it lasts."""
ANSWER_SECONDS: Final = 4.0
LARGEST_UPLOAD: Final = "/api/modhub/1/code?version=1&name=doctor.zip"
LONGEST_LINE: Final = 7000
"""Bytes of an address or a header that must pass. The longest file name and caption, percent-encoded, need 5,500."""
LONG_HEADS: Final[tuple[tuple[str, str, dict[str, str]], ...]] = (
    (f"an address of {LONGEST_LINE:,} bytes", f"/healthz?doctor={'x' * LONGEST_LINE}", {}),
    (f"a header of {LONGEST_LINE:,} bytes", "/healthz", {"X-Doctor": "x" * LONGEST_LINE}),
    ("a head of 12,000 bytes", "/healthz", {"X-Doctor": "x" * 6000, "X-Doctor-2": "x" * 6000}),
)


def record_untrusted_proxy(registry: Any, peer: str) -> None:
    """Called by the server; a database that cannot be written must not fail the request."""
    try:
        with find_service(registry, Databases).write_session.begin() as session:
            observations.record_observation(session, UNTRUSTED, peer)
    except SQLAlchemyError as error:
        log.debug("the untrusted proxy is not recorded: %s", type(error).__name__)


def find_proxy_problems(admin: Any) -> Iterator[str]:
    """The ini, what the processes have seen, and what arrives through ``modhub.base_url``."""
    settings = admin.registry.settings
    yield from base_url_warnings(settings)
    yield from _find_reachability_problems(admin)
    yield from _find_trust_problems(admin, server_section(admin.ini))


def _find_trust_problems(admin: Any, server: Mapping[str, str]) -> Iterator[str]:
    trusted = server.get("trusted_proxy", "").strip()
    if trusted and not {"x-forwarded-for", "forwarded"} & set(server.get("trusted_proxy_headers", "").lower().split()):
        yield (
            "[server:main] has trusted_proxy without trusted_proxy_headers, so everybody counts as one caller: set "
            "trusted_proxy_headers = x-forwarded-for x-forwarded-proto x-forwarded-host"
        )
    time, peer = observations.recorded_if_readable(admin.databases, UNTRUSTED).get(UNTRUSTED, (None, ""))
    if time is not None and now() - time < FORGET_AFTER and trusted not in {"*", peer}:
        yield (
            f"{peer} forwards requests for others but is not trusted (last seen {time:%Y-%m-%d %H:%M} UTC): they all "
            f"count as one caller. If it is your proxy, set trusted_proxy = {peer} in [server:main]"
        )
    elif server and not trusted and admin.registry.settings["modhub.base_url"].startswith("https:"):
        yield (
            "modhub.base_url has https, so a proxy terminates TLS, but [server:main] has no trusted_proxy: everybody "
            "would count as one caller. Set trusted_proxy to the proxy's address, and trusted_proxy_headers"
        )


def server_section(ini: str) -> dict[str, str]:
    """``[server:main]``, without interpolation; empty if there is none or it is not ours."""
    parser = configparser.RawConfigParser()
    try:
        parser.read(ini, "utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    section = dict(parser["server:main"]) if parser.has_section("server:main") else {}
    return section if section.get("use", "").startswith(("egg:modhub#", "egg:waitress#")) else {}


def _find_reachability_problems(admin: Any) -> Iterator[str]:
    base_url = admin.registry.settings["modhub.base_url"]
    try:
        health = _ask(base_url, "GET", "/healthz")
    except ssl.SSLError as error:
        yield f"the TLS certificate at {base_url} is not accepted ({error.reason or type(error).__name__}): renew it"
        return
    except (OSError, http.client.HTTPException) as error:
        is_silent = isinstance(error, TimeoutError)
        reason = "no answer" if is_silent else getattr(error, "strerror", None) or type(error).__name__
        yield f"{base_url} cannot be reached ({reason}): start the service and the proxy, or correct modhub.base_url"
        return
    location = health.headers.get("Location", "")
    if base_url.startswith("http:") and location.startswith("https:"):
        yield f"{base_url} redirects to https: write https in modhub.base_url, or every form is rejected"
    elif health.json.get("status") != "ok":
        yield f"{base_url}/healthz answers {health.status}, and not this service: correct the proxy or modhub.base_url"
    else:
        # Beside each other: the whole check has five seconds.
        with ThreadPoolExecutor(len(LONG_HEADS)) as pool:
            heads = [pool.submit(_ask_with_head, base_url, path, headers) for _, path, headers in LONG_HEADS]
            yield from _find_body_problems(base_url)
            yield from _find_public_metrics(base_url)
            yield from _find_expiring_certificate(base_url)
            for (what, _, _), answer in zip(LONG_HEADS, heads, strict=True):
                if (outcome := answer.result()) is not None:
                    yield (
                        f"{what} gets {outcome}: raise the proxy's limits of request heads "
                        "(nginx: large_client_header_buffers 4 8k)"
                    )


def _find_expiring_certificate(base_url: str) -> Iterator[str]:
    """Before it expires: without Prometheus nobody else says so."""
    url = urlsplit(base_url)
    if url.scheme != "https":
        return
    with suppress(OSError):
        days = (certificate.expiry_time(url.hostname or "", url.port or 443) - time()) / 86400
        if days < CERTIFICATE_DAYS:
            yield f"the TLS certificate at {base_url} expires in {days:.0f} days: renew it"


def _ask_with_head(base_url: str, path: str, headers: Mapping[str, str]) -> str | None:
    """None if the request reaches the service, else what happens to it."""
    try:
        response = _ask(base_url, "GET", path, headers)
    except (OSError, http.client.HTTPException):
        return "no answer"
    return None if response.json.get("status") == "ok" else str(response.status)


def _find_body_problems(base_url: str) -> Iterator[str]:
    """The largest upload, announced without a credential and without its body: the service answers 401 at once."""
    megabytes = CODE // MB
    try:
        upload = _ask(base_url, "POST", LARGEST_UPLOAD, {"Content-Length": str(CODE)})
    except (OSError, http.client.HTTPException):
        yield (
            f"an upload of {megabytes} MB gets no answer before its body is sent: turn off the proxy's buffering of "
            "requests (nginx: proxy_request_buffering off)"
        )
        return
    if upload.status == http.client.REQUEST_ENTITY_TOO_LARGE:
        yield f"the proxy refuses an upload of {megabytes} MB: raise its limit (nginx: client_max_body_size 0)"
    elif upload.status != http.client.UNAUTHORIZED or "error" not in upload.json:
        yield f"an upload of {megabytes} MB gets {upload.status} and not the service's answer: correct the proxy"


def _find_public_metrics(base_url: str) -> Iterator[str]:
    """Through a proxy on this machine that says nothing of the caller, everybody looks like this machine."""
    try:
        response = _ask(base_url, "GET", "/metrics")
    except (OSError, http.client.HTTPException):
        return
    is_public = response.status == http.client.OK and response.headers.get_content_type() == "text/plain"
    if is_public and not is_loopback(base_url):
        yield (
            f"everybody can read {base_url}/metrics, because the proxy hides the caller's address: let it set "
            "X-Forwarded-For (nginx: proxy_set_header X-Forwarded-For $remote_addr), or refuse /metrics there"
        )


class Response:
    """A response, read to its end."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        try:
            content = json.loads(response.read(65536))
        except ValueError:
            content = None
        self.json: dict[str, Any] = content if isinstance(content, dict) else {}


def _ask(base_url: str, method: str, path: str, headers: Mapping[str, str] | None = None) -> Response:
    """Ask for the head of a request alone; OSError or HTTPException without a response in time."""
    url = urlsplit(base_url)
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname or "", url.port, timeout=ANSWER_SECONDS / 2)
    try:
        connection.putrequest(method, path)
        for name, value in {"User-Agent": "modhub-admin doctor", "Connection": "close", **(headers or {})}.items():
            connection.putheader(name, value)
        connection.endheaders()
        return Response(connection.getresponse())
    finally:
        connection.close()


def ask_base_url(admin: Any, method: str, path: str) -> Response | None:
    """As `_ask`; None without a response."""
    try:
        return _ask(admin.registry.settings["modhub.base_url"], method, path)
    except (OSError, http.client.HTTPException):
        return None


def includeme(config: Configurator) -> None:
    """Let the server report proxies that it does not trust."""
    report = partial(record_untrusted_proxy, config.registry)
    config.registry.getUtility(IBodyRules).report_untrusted_proxy = report
