"""A relying party of OpenID Authentication 2.0, without associations and without state (C-ACC-19).

The provider verifies the signature of every assertion (section 11.4.2); all other fields are checked here.
"""

import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from threading import Timer
from time import monotonic
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from modhub.base.errors import ApiError
from modhub.base.optional_calls import optional_call
from modhub.content.text import N_
from modhub.db import now
from modhub_auth.signin.passwords import HashingGate

NAMESPACE: Final = "http://specs.openid.net/auth/2.0"
IDENTIFIER_SELECT: Final = "http://specs.openid.net/auth/2.0/identifier_select"
REQUIRED_SIGNED: Final = frozenset(
    {"op_endpoint", "return_to", "response_nonce", "assoc_handle", "claimed_id", "identity"}
)
NONCE_LIFE: Final = timedelta(minutes=10)
PROVIDER_TIMEOUT_SECONDS: Final = 10
PROVIDER_DEADLINE_SECONDS: Final = 2.0
"""How long a request waits for its turn to ask the provider."""
_RESPONSE_BYTES: Final = 65536
_FORM_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded", "Connection": "close"}
_MAX_QUERY: Final = 10_000
_NONCE: Final = re.compile(r"\A([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})Z[!-~]{0,200}\Z")
_CLAIMED_ID: Final = re.compile(r"\Ahttps?://([^/@]+)/openid/id/([0-9]{1,20})\Z")
STEAM_HOST: Final = "steamcommunity.com"


@dataclass(frozen=True, slots=True)
class Assertion:
    """The identity at a platform that the provider confirms, and the nonce that detects a replay."""

    platform: str
    subject: str
    nonce: str


def platform_refused() -> ApiError:
    """403 for any invalid assertion."""
    return ApiError(403, "platform_refused", "The platform did not confirm who you are. Try again.")


def platform_unreachable() -> ApiError:
    """503: the provider cannot be reached."""
    message = N_("The platform cannot be reached right now. Try again in a moment.")
    return ApiError(503, "platform_unreachable", message, headers={"Retry-After": "10"})


@contextmanager
def _timed_connection(url: SplitResult) -> Iterator[HTTPConnection]:
    """A connection to ``url``, closed after the block and at the latest `PROVIDER_TIMEOUT_SECONDS` after its start.

    The time includes connecting and the TLS handshake. It includes the DNS lookup too, but nothing can interrupt that:
    if it takes longer, it lasts until the system gives up, and then TimeoutError is raised.
    """
    deadline = monotonic() + PROVIDER_TIMEOUT_SECONDS
    kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
    with closing(kind(url.netloc)) as connection:
        connection.sock = connection_socket = _connect(connection.host, connection.port, deadline)
        connection_socket.settimeout(_seconds_left(deadline))
        if url.scheme == "https":
            connection.sock = connection_socket = ssl.create_default_context().wrap_socket(
                connection_socket, server_hostname=connection.host, do_handshake_on_connect=False
            )
        timer = Timer(_seconds_left(deadline), hang_up, [connection_socket])
        timer.start()
        try:
            if isinstance(connection_socket, ssl.SSLSocket):
                connection_socket.do_handshake()
            yield connection
            _seconds_left(deadline)  # what was read may be truncated
        finally:
            timer.cancel()


def _seconds_left(deadline: float) -> float:
    """The seconds until ``deadline``; TimeoutError when it has passed."""
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """A socket connected to one of the addresses of ``host``; OSError when none answers in time.

    Each address gets an equal share of the time left, so that one without an answer leaves some for the next.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for index, (*_, address) in enumerate(addresses):
        seconds = _seconds_left(deadline) / (len(addresses) - index)
        with suppress(OSError):
            connection = socket.create_connection((str(address[0]), port), seconds)
            with optional_call("TCP_NODELAY", "signing in through a platform takes longer"):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
    raise ConnectionError


def hang_up(connection: socket.socket) -> None:
    """Shut down a connection that another thread may be reading from."""
    with suppress(OSError):
        # The plain socket's method: that of TLS drops its state while the other thread reads.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


class Steam:
    """Steam, which speaks OpenID 2.0. Another platform needs a class with the same methods."""

    name: Final = "steam"
    title: Final = "Steam"

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._hosts = {STEAM_HOST, urlsplit(provider).netloc}
        # A slow provider occupies at most two server threads, and a third for two seconds.
        self._gate = HashingGate(at_once=2, queue_size=1, wait_seconds=PROVIDER_DEADLINE_SECONDS)

    def sign_in_url(self, return_to: str, realm: str) -> str:
        """The address of the provider's sign-in page (section 9)."""
        parameters = {
            "openid.ns": NAMESPACE,
            "openid.mode": "checkid_setup",
            "openid.claimed_id": IDENTIFIER_SELECT,
            "openid.identity": IDENTIFIER_SELECT,
            "openid.return_to": return_to,
            "openid.realm": realm,
        }
        return self._provider + ("&" if "?" in self._provider else "?") + urlencode(parameters)

    def verify(self, query: str, return_to: str) -> Assertion:
        """Verify the query of the visitor's return (section 11); 403, or 503 when the provider cannot be reached."""
        fields = _openid_fields(query)
        nonce = _NONCE.match(fields.get("response_nonce", ""))
        claimed_id = _CLAIMED_ID.match(fields.get("claimed_id", ""))
        fields_match = (
            fields.get("ns") == NAMESPACE
            and fields.get("mode") == "id_res"
            and fields.get("op_endpoint") == self._provider
            and fields.get("return_to") == return_to
            and fields.get("identity") == fields.get("claimed_id")
            and set(fields.get("signed", "").split(",")) >= REQUIRED_SIGNED
        )
        if not fields_match or nonce is None or claimed_id is None or claimed_id[1] not in self._hosts:
            raise platform_refused()
        if not _is_recent(nonce[1]) or not self._is_confirmed(fields):
            raise platform_refused()
        return Assertion(self.name, claimed_id[2], nonce[0])

    def _is_confirmed(self, fields: Mapping[str, str]) -> bool:
        """Ask the provider whether it made this assertion (section 11.4.2)."""
        parameters = {f"openid.{name}": value for name, value in fields.items()}
        parameters["openid.mode"] = "check_authentication"
        url = urlsplit(self._provider)
        path = url._replace(scheme="", netloc="").geturl()
        try:
            with self._gate.turn(), _timed_connection(url) as connection:
                connection.request("POST", path, urlencode(parameters), _FORM_HEADERS)
                response = connection.getresponse()
                body = response.read(_RESPONSE_BYTES).decode("utf-8", "replace")
        except (OSError, HTTPException):
            raise platform_unreachable() from None
        # Any other status, a redirect too, is not the provider's answer.
        if response.status != HTTPStatus.OK:
            raise platform_unreachable()
        return "is_valid:true" in body.splitlines()


def _openid_fields(query: str) -> dict[str, str]:
    """The ``openid.`` fields; 403 when one occurs twice."""
    if len(query) > _MAX_QUERY:
        raise platform_refused()
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise platform_refused() from None
    fields = [(name.removeprefix("openid."), value) for name, value in pairs if name.startswith("openid.")]
    if len(dict(fields)) != len(fields):
        raise platform_refused()
    return dict(fields)


def _is_recent(timestamp: str) -> bool:
    try:
        issued_at = datetime.fromisoformat(timestamp).replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(now() - issued_at) < NONCE_LIFE
