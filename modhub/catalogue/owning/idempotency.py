"""Calls that create something and may be repeated: the header ``Idempotency-Key`` (C-OWN-31).

The key is stored in the transaction of the call, so that it exists exactly if what the call created does.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from pyramid.config import Configurator
from pyramid_retry import mark_error_retryable
from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from modhub.base.errors import busy, conflict, invalid
from modhub.base.service_registry import find_service
from modhub.catalogue.models import IdempotencyKey, Mod
from modhub.db import Databases, bulk, now, to_micros
from modhub.web.payload import encode

KEPT_FOR: Final = timedelta(hours=24)
KEY_EXPIRY_SECONDS: Final = 600.0
_KEY: Final = re.compile(r"[ -~]{1,255}")
_INSERT: Final = text(
    "INSERT INTO core_idempotency_key (key_sha256, content_sha256, mod_id, used_at)"
    " VALUES (:key, :content, :mod_id, :at) ON CONFLICT (key_sha256) DO NOTHING"
)


@dataclass(frozen=True, slots=True)
class RepeatableCall:
    """A call with a key: the hashes of key, account and address, and of what was sent."""

    key_sha256: str
    content_sha256: str


def read_idempotency_key(request: Any) -> str | None:
    """Return the key of the call, None without one; 400 if it is malformed."""
    key: str | None = request.environ.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not _KEY.fullmatch(key):
        raise invalid("The header Idempotency-Key must have 1 to 255 printable ASCII characters.")
    return key


def describe_call(
    key: str | None, account_id: int, address: str, query: str, body_sha256: str
) -> RepeatableCall | None:
    """Return the call with this key; None without a key. A key counts for its account and its address only."""
    if key is None:
        return None
    return RepeatableCall(_digest([account_id, address, key]), _digest([query, body_sha256]))


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(encode(parts)).hexdigest()


def create_once(
    session: Session, call: RepeatableCall | None, create: Callable[[], Mod], find_mod: Callable[[int], Mod]
) -> tuple[Mod, bool]:
    """Return (the mod, whether ``create`` was called): an earlier call with this key has created it already.

    409 if that one sent something else. If it ended at this very moment, the request is made again and finds it.
    """
    if call is None:
        return create(), True
    stored = session.scalars(select(IdempotencyKey).where(IdempotencyKey.key_sha256 == call.key_sha256)).one_or_none()
    if stored is not None and stored.used_at > now() - KEPT_FOR:
        if stored.content_sha256 != call.content_sha256:
            raise conflict("idempotency_key_used", "This Idempotency-Key was sent with another request.")
        return find_mod(stored.mod_id), False
    if stored is not None:
        bulk.execute_bulk(session, delete(IdempotencyKey).where(IdempotencyKey.key_sha256 == call.key_sha256))
    mod = create()
    values = {"key": call.key_sha256, "content": call.content_sha256, "mod_id": mod.id, "at": to_micros(now())}
    # PostgreSQL waits here until another call with this key has ended; on SQLite there is none.
    if session.execute(_INSERT, values).rowcount == 0:  # type: ignore[attr-defined]
        ended = busy()
        mark_error_retryable(ended)
        raise ended
    return mod, True


def delete_expired_keys(registry: Any) -> None:
    """The worker that deletes the keys that count no more."""
    with find_service(registry, Databases).write_session.begin() as session:
        bulk.execute_bulk(session, delete(IdempotencyKey).where(IdempotencyKey.used_at <= now() - KEPT_FOR))


def includeme(config: Configurator) -> None:
    """Declare the worker."""
    config.add_worker("expired keys", delete_expired_keys, KEY_EXPIRY_SECONDS)
