"""A relying party of OpenID Authentication 2.0, without associations and without state of its own (decisions 3.9).

The provider is asked about every assertion (section 11.4.2), so that no signature is checked here; all else that an
assertion must hold is.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from socket import SHUT_RDWR, socket
from threading import Timer
from time import monotonic
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from modhub.db import now
from modhub.errors import Refusal
from modhub_auth.passwords import Gate

NAMESPACE: Final = "http://specs.openid.net/auth/2.0"
SELECT: Final = "http://specs.openid.net/auth/2.0/identifier_select"
SIGNED: Final = frozenset({"op_endpoint", "return_to", "response_nonce", "assoc_handle", "claimed_id", "identity"})
NONCE_LIFE: Final = timedelta(minutes=10)
TIMEOUT_SECONDS: Final = 10
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


def refused() -> Refusal:
    """403: whatever was wrong with an assertion."""
    return Refusal(403, "platform_refused", "The platform did not confirm who you are. Try once more.")


def unreachable() -> Refusal:
    """503: the provider cannot be asked."""
    message = "The platform cannot be reached just now; try again in a moment."
    return Refusal(503, "platform_unreachable", message, headers={"Retry-After": "10"})


@contextmanager
def _in_time(connection: HTTPConnection) -> Iterator[HTTPConnection]:
    """The connection, made; it ends with the block, and after `TIMEOUT_SECONDS` whatever trickles in."""
    with closing(connection):
        connection.connect()
        deadline = monotonic() + TIMEOUT_SECONDS
        end = Timer(TIMEOUT_SECONDS, _hang_up, [connection.sock])
        end.start()
        try:
            yield connection
            if monotonic() >= deadline:
                raise TimeoutError  # what was read may be cut
        finally:
            end.cancel()


def _hang_up(held: socket) -> None:
    with suppress(OSError):
        # The plain socket's own: that of TLS forgets its state while the other thread reads.
        socket.shutdown(held, SHUT_RDWR)


class Steam:
    """Steam, which speaks OpenID 2.0; another platform has a class of the same shape."""

    name: Final = "steam"
    title: Final = "Steam"

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._hosts = {STEAM, urlsplit(provider).netloc}
        # A slow provider takes no more than two of the threads that others need.
        self._gate = Gate(at_once=2, places=1, seconds=2.0)

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
            raise refused()
        if not _is_recent(nonce[1]) or not self._confirms(sent):
            raise refused()
        return Assertion(claimed[2], nonce[0])

    def _confirms(self, sent: Mapping[str, str]) -> bool:
        """Ask the provider itself (section 11.4.2)."""
        asked = {f"openid.{name}": value for name, value in sent.items()} | {"openid.mode": "check_authentication"}
        where = urlsplit(self._provider)
        kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
        try:
            with self._gate.turn(), _in_time(kind(where.netloc, timeout=TIMEOUT_SECONDS)) as connection:
                connection.request("POST", where._replace(scheme="", netloc="").geturl(), urlencode(asked), _FORM)
                answer = connection.getresponse()
                said = answer.read(_ANSWER_BYTES).decode("utf-8", "replace")
        except (OSError, HTTPException):
            raise unreachable() from None
        # Another status, a way elsewhere too, is no answer of the provider's own.
        if answer.status != HTTPStatus.OK:
            raise unreachable()
        return "is_valid:true" in said.splitlines()


def _fields(query: str) -> dict[str, str]:
    """The ``openid.`` fields; a doubled one is two answers, of which neither counts."""
    if len(query) > _LENGTH:
        raise refused()
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise refused() from None
    found = [(name.removeprefix("openid."), value) for name, value in pairs if name.startswith("openid.")]
    if len(dict(found)) != len(found):
        raise refused()
    return dict(found)


def _is_recent(stamp: str) -> bool:
    try:
        made = datetime.fromisoformat(stamp).replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(now() - made) < NONCE_LIFE
