"""Calls to the object store at its current endpoint, with time limits, two retries and a circuit breaker."""

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import BaseError, PermissionDeniedError, PreconditionError, UnauthenticatedError
from obstore.store import S3Store as Client

from modhub.base.repeated_lines import log_sometimes
from modhub.blobs.s3.pieces import PIECE_BYTES, UploadPieces
from modhub.blobs.store import StoreTrouble

if TYPE_CHECKING:
    from obstore import ObjectMeta

CONNECT_SECONDS: Final = 2
CALL_SECONDS: Final = 3
"""Time limit of a call without a body, such as HEAD."""
BODY_SECONDS: Final = 6
"""The time of a call with a piece or a window: obstore's limit bounds the whole of it, the body included.

Three of these, a failed call, the abort of its upload and the removal of what may have come through, end within the 20
seconds in which an upload to a dead store is refused.
"""
RETRIES: Final = 2
FAILURES: Final = 2
"""Consecutive failed calls, each with its retries, after which the store counts as down."""
REST_SECONDS: Final = 5.0
"""Seconds without calls to a store that is down; then one call tries again."""
WINDOW_BYTES: Final = 4 * 1024 * 1024
"""Bytes that are asked for at once."""
LISTED: Final = 1000
UPLOAD_CONCURRENCY: Final = 2

_STATUS = re.compile(r"status code: ([0-9]{3})")
_CLOCK_REFUSED: Final = "RequestTimeTooSkewed"
"""The code of S3 for a signature that is more than 15 minutes old or in the future."""

log = logging.getLogger(__name__)


class ObjectMissing(StoreTrouble):
    """There is no such object."""


class ObjectChanged(StoreTrouble):
    """The object is not what was stored, or not the one that was found before."""


class CircuitBreaker:
    """Counts failed calls to one endpoint."""

    def __init__(self) -> None:
        self._failures = 0
        self._resting_until = 0.0
        self._lock = Lock()

    def check(self) -> None:
        """Raise :class:`StoreTrouble` while the store is down; let one call through every `REST_SECONDS`."""
        with self._lock:
            if self._failures < FAILURES:
                return
            now = monotonic()
            if now < self._resting_until:
                raise StoreTrouble("it did not answer a moment ago")
            # If this call never reports its result, the next one may try after the same time.
            self._resting_until = now + REST_SECONDS

    def failed(self) -> None:
        """Count a call without a response, or with a 5xx."""
        with self._lock:
            self._failures += 1
            self._resting_until = monotonic() + REST_SECONDS

    def succeeded(self) -> None:
        """Reset the count: the store responded."""
        with self._lock:
            self._failures = 0


@dataclass(frozen=True)
class Bucket:
    """A prefix in a bucket, and the keys."""

    name: str
    prefix: str
    endpoint: str
    region: str
    access_key: str = field(repr=False)
    secret_key: str = field(repr=False)


@dataclass(frozen=True)
class _Clients:
    endpoint: str
    quick: Client
    bodies: Client
    breaker: CircuitBreaker


class S3Connection:
    """The calls to a bucket. :class:`StoreTrouble` if one fails."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._reported: Callable[[], str | None] = lambda: None
        self._endpoint = bucket.endpoint
        self._clients: _Clients | None = None
        self._lock = Lock()

    def follow(self, reported: Callable[[], str | None]) -> None:
        """Use the endpoint that ``reported`` returns; the one of the ini while that is None (C-ADDR-5)."""
        self._reported = reported

    def endpoint(self) -> str:
        """The current endpoint; the last known one while the database is down."""
        try:
            self._endpoint = self._reported() or self._bucket.endpoint
        except Exception as error:  # noqa: BLE001 - files are given out whatever is wrong with the database
            reason = type(error).__name__
            log_sometimes(log, logging.WARNING, "the storage address cannot be read just now (%s)", reason)
        return self._endpoint

    def head(self, key: str) -> "ObjectMeta":
        """Size and ETag of an object."""
        with self._asking() as clients:
            return obstore.head(clients.quick, key)

    def put(self, key: str, pieces: UploadPieces) -> str | None:
        """Store an object in one piece or in several; its ETag. Nothing of it is left when the stream raises."""
        try:
            first = pieces.read()
            with self._asking() as clients:
                if len(first) < PIECE_BYTES:
                    return obstore.put(clients.bodies, key, first, use_multipart=False)["e_tag"]
                return obstore.put(
                    clients.bodies, key, pieces.all(first), chunk_size=PIECE_BYTES, max_concurrency=UPLOAD_CONCURRENCY
                )["e_tag"]
        except Exception:
            if pieces.error is not None:
                raise pieces.error from None
            raise

    def windows(self, key: str, etag: str | None, start: int, stop: int) -> Iterator[bytes]:
        """The bytes from ``start`` to ``stop`` of the object with this ``etag``, a window at a time."""
        for position in range(start, stop, WINDOW_BYTES):
            end = min(position + WINDOW_BYTES, stop)
            with self._asking() as clients:
                answer = obstore.get(clients.bodies, key, options={"range": (position, end)})
                if answer.meta["e_tag"] != etag:
                    raise ObjectChanged("it was changed in the meantime")
                window = bytes(answer.bytes())
            if len(window) != end - position:
                raise StoreTrouble("the store gave another part than the one it was asked for")
            yield window

    def delete(self, key: str) -> None:
        """Remove an object; absent is fine."""
        with self._asking() as clients:
            try:
                obstore.delete(clients.quick, key)
            except FileNotFoundError:
                return

    def objects(self) -> "Iterator[ObjectMeta]":
        """All objects below the prefix."""
        with self._asking() as clients:
            listing = iter(obstore.list(clients.bodies, chunk_size=LISTED))
        while True:
            with self._asking():
                page = next(listing, None)
            if page is None:
                return
            yield from page

    @contextmanager
    def _asking(self) -> Iterator[_Clients]:
        """The clients for one call; errors of obstore become a :class:`StoreTrouble`."""
        clients = self._current()
        clients.breaker.check()
        try:
            yield clients
        except FileNotFoundError:
            clients.breaker.succeeded()
            raise ObjectMissing("it is missing") from None
        except BaseError as error:
            trouble, answered = _trouble(error)
            (clients.breaker.succeeded if answered else clients.breaker.failed)()
            raise trouble from None
        clients.breaker.succeeded()

    def _current(self) -> _Clients:
        endpoint = self.endpoint()
        with self._lock:
            if self._clients is None or self._clients.endpoint != endpoint:
                self._clients = _Clients(
                    endpoint,
                    self._client(endpoint, CALL_SECONDS),
                    self._client(endpoint, BODY_SECONDS),
                    CircuitBreaker(),
                )
            return self._clients

    def _client(self, endpoint: str, seconds: int) -> Client:
        """The keys are always passed: without them obstore asks the metadata address of the cloud."""
        return Client(
            self._bucket.name,
            prefix=self._bucket.prefix or None,
            endpoint=endpoint,
            region=self._bucket.region,
            access_key_id=str(self._bucket.access_key),
            secret_access_key=str(self._bucket.secret_key),
            virtual_hosted_style_request=False,
            client_options={
                "timeout": timedelta(seconds=seconds),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "allow_http": endpoint.startswith("http:"),
            },
            # No retry after a timeout: the caller has waited long enough.
            retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=seconds - 1)},
        )


def _trouble(error: BaseError) -> tuple[StoreTrouble, bool]:
    """The error without the address that its message contains, and whether the store responded."""
    if _CLOCK_REFUSED in str(error):
        return StoreTrouble("it refuses this machine's clock"), True
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return StoreTrouble("it refuses the key"), True
    if isinstance(error, PreconditionError):
        return ObjectChanged("it was changed in the meantime"), True
    status = _STATUS.search(str(error))
    if status is None:
        return StoreTrouble("it does not answer"), False
    return StoreTrouble(f"it answered {status[1]}"), int(status[1]) < 500
