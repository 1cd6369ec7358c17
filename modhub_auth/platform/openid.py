"""A relying party of OpenID Authentication 2.0, without associations and without state of its own (C-ACC-19).

The provider is asked about every assertion (section 11.4.2), so that no signature is checked here; all else that an
assertion must hold is.
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

from modhub.db import now
from modhub.errors import ApiError
from modhub.text import N_
from modhub_auth.signin.passwords import HashingGate

NAMESPACE: Final = "http://specs.openid.net/auth/2.0"
SELECT: Final = "http://specs.openid.net/auth/2.0/identifier_select"
SIGNED: Final = frozenset({"op_endpoint", "return_to", "response_nonce", "assoc_handle", "claimed_id", "identity"})
NONCE_LIFE: Final = timedelta(minutes=10)
PROVIDER_TIMEOUT_SECONDS: Final = 10
PROVIDER_DEADLINE_SECONDS: Final = 2.0
"""How long somebody waits for a turn to ask."""
_ANSWER_BYTES: Final = 65536
_FORM: Final = {"Content-Type": "application/x-www-form-urlencoded", "Connection": "close"}
_LENGTH: Final = 10_000
_NONCE: Final = re.compile(r"\A([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})Z[!-~]{0,200}\Z")
_CLAIMED: Final = re.compile(r"\Ahttps?://([^/@]+)/openid/id/([0-9]{1,20})\Z")
STEAM: Final = "steamcommunity.com"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Whom the provider vouches for, and the nonce by which this is told from a replay."""

    subject: str
    nonce: str


def platform_refused() -> ApiError:
    """403: whatever was wrong with an assertion."""
    return ApiError(403, "platform_refused", "The platform did not confirm who you are. Try again.")


def platform_unreachable() -> ApiError:
    """503: the provider cannot be asked."""
    message = N_("The platform cannot be reached right now. Try again in a moment.")
    return ApiError(503, "platform_unreachable", message, headers={"Retry-After": "10"})


@contextmanager
def _in_time(where: SplitResult) -> Iterator[HTTPConnection]:
    """A connection to ``where``. It ends with the block, and `PROVIDER_TIMEOUT_SECONDS` after it began at the latest.

    Connecting and the handshake of TLS count. Looking the name up counts too, but nothing can interrupt it: where that
    takes longer, it lasts until the system gives up, and then nothing is asked.
    """
    deadline = monotonic() + PROVIDER_TIMEOUT_SECONDS
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    with closing(kind(where.netloc)) as connection:
        connection.sock = held = _reached(connection.host, connection.port, deadline)
        held.settimeout(_left(deadline))
        if where.scheme == "https":
            connection.sock = held = ssl.create_default_context().wrap_socket(
                held, server_hostname=connection.host, do_handshake_on_connect=False
            )
        end = Timer(_left(deadline), hang_up, [held])
        end.start()
        try:
            if isinstance(held, ssl.SSLSocket):
                held.do_handshake()
            yield connection
            _left(deadline)  # what was read may be cut
        finally:
            end.cancel()


def _left(deadline: float) -> float:
    """The seconds until then; TimeoutError when there are none."""
    seconds = deadline - monotonic()
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _reached(host: str, port: int, deadline: float) -> socket.socket:
    """A socket that is connected to one of the addresses of ``host``; OSError when none answers in time.

    Each has its share of the time, so that one which swallows everything leaves some to the next.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for at, (*_, address) in enumerate(found):
        seconds = _left(deadline) / (len(found) - at)
        with suppress(OSError):
            held = socket.create_connection((str(address[0]), port), seconds)
            held.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return held
    raise ConnectionError


def hang_up(held: socket.socket) -> None:
    """End a connection that another thread may be reading from."""
    with suppress(OSError):
        # The plain socket's own: that of TLS forgets its state while the other thread reads.
        socket.socket.shutdown(held, socket.SHUT_RDWR)


class Steam:
    """Steam, which speaks OpenID 2.0; another platform has a class of the same shape."""

    name: Final = "steam"
    title: Final = "Steam"

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._hosts = {STEAM, urlsplit(provider).netloc}
        # A slow provider takes two of the threads that others need, and a third for two seconds at most.
        self._gate = HashingGate(at_once=2, places=1, seconds=PROVIDER_DEADLINE_SECONDS)

    def leave(self, return_to: str, realm: str) -> str:
        """Where the visitor is sent (section 9)."""
        asked = {
            "openid.ns": NAMESPACE,
            "openid.mode": "checkid_setup",
            "openid.claimed_id": SELECT,
            "openid.identity": SELECT,
            "openid.return_to": return_to,
            "openid.realm": realm,
        }
        return self._provider + ("&" if "?" in self._provider else "?") + urlencode(asked)

    def judge(self, query: str, return_to: str) -> Assertion:
        """Judge what the visitor came back with (section 11); 403, or 503 when the provider cannot be asked."""
        sent = _fields(query)
        nonce = _NONCE.match(sent.get("response_nonce", ""))
        claimed = _CLAIMED.match(sent.get("claimed_id", ""))
        right = (
            sent.get("ns") == NAMESPACE
            and sent.get("mode") == "id_res"
            and sent.get("op_endpoint") == self._provider
            and sent.get("return_to") == return_to
            and sent.get("identity") == sent.get("claimed_id")
            and set(sent.get("signed", "").split(",")) >= SIGNED
        )
        if not right or nonce is None or claimed is None or claimed[1] not in self._hosts:
            raise platform_refused()
        if not _is_recent(nonce[1]) or not self._confirms(sent):
            raise platform_refused()
        return Assertion(claimed[2], nonce[0])

    def _confirms(self, sent: Mapping[str, str]) -> bool:
        """Ask the provider itself (section 11.4.2)."""
        asked = {f"openid.{name}": value for name, value in sent.items()} | {"openid.mode": "check_authentication"}
        where = urlsplit(self._provider)
        try:
            with self._gate.turn(), _in_time(where) as connection:
                connection.request("POST", where._replace(scheme="", netloc="").geturl(), urlencode(asked), _FORM)
                answer = connection.getresponse()
                said = answer.read(_ANSWER_BYTES).decode("utf-8", "replace")
        except (OSError, HTTPException):
            raise platform_unreachable() from None
        # Another status, a way elsewhere too, is no answer of the provider's own.
        if answer.status != HTTPStatus.OK:
            raise platform_unreachable()
        return "is_valid:true" in said.splitlines()


def _fields(query: str) -> dict[str, str]:
    """The ``openid.`` fields; a doubled one is two answers, of which neither counts."""
    if len(query) > _LENGTH:
        raise platform_refused()
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise platform_refused() from None
    found = [(name.removeprefix("openid."), value) for name, value in pairs if name.startswith("openid.")]
    if len(dict(found)) != len(found):
        raise platform_refused()
    return dict(found)


def _is_recent(stamp: str) -> bool:
    try:
        made = datetime.fromisoformat(stamp).replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(now() - made) < NONCE_LIFE
