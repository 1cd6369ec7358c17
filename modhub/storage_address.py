"""The address that the file-storage machine reports of itself (C-ADDR-1; C-ADDR-3).

Kept in the database, so that every process follows a change; offered as :class:`modhub.interfaces.IStorageAddress`. The
report makes no outgoing request: what it names is only stored.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from pyramid.authorization import Allow
from pyramid.config import Configurator
from sqlalchemy import String, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column
from zope.interface import Interface, implementer

from modhub import bulk, limits
from modhub.db import Base, Databases, Timestamp, now
from modhub.errors import invalid
from modhub.interfaces import ICatalogue, IStorageAddress
from modhub.origins import parse_origin
from modhub.payload import read_json
from modhub.raw_queries import RawQueryExecutor
from modhub.request import Request
from modhub.security.api_keys import ADDRESS_KEY_REALM
from modhub.security.identity import CredentialKind, Permission
from modhub.service_registry import find_service
from modhub.traversal import Resource
from modhub.views import api

STALE_SECONDS: Final = 2.0
"""How old a read address may be; every process must follow a change within 5 seconds (C-ADDR-3)."""

_ROW: Final = 1


class StoredAddress(Base):
    """The one row of the address; ``base_url`` is None until the first report."""

    __tablename__ = "core_storage_address"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    base_url: Mapped[str | None] = mapped_column(String(300))
    reported_at: Mapped[datetime | None] = mapped_column(Timestamp)


def store_reported_address(session: Session, base_url: str) -> bool:
    """Store the address; whether it differs from the stored one. Of equal reports at once one alone answers True."""
    other = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    change = update(StoredAddress).where(StoredAddress.id == _ROW, other).values(base_url=base_url, reported_at=now())
    return bulk.execute_bulk(session, change) == 1


class CurrentAddress:
    """The address as the database has it, asked at most every :data:`STALE_SECONDS`; one for an application."""

    def __init__(self, reader: RawQueryExecutor, clock: Callable[[], float] = time.monotonic) -> None:
        self._reader = reader
        self._clock = clock
        self._statement = reader.prepare(select(StoredAddress.base_url).where(StoredAddress.id == _ROW))
        self._known: tuple[float, str | None] | None = None

    def current(self) -> str | None:
        """``https://host[:port]``, None before the first report. Database errors go through."""
        asked = self._clock()
        known = self._known
        if known is None or asked - known[0] >= STALE_SECONDS:
            rows = self._reader.rows(self._statement)
            # The time before the asking: the answer is never older than it seems.
            known = self._known = (asked, rows[0][0] if rows else None)
        return known[1]


class IStorage(Interface):
    """``/api/modhub/storage``"""


class IAddress(Interface):
    """``/api/modhub/storage/address``"""


class StoragePermission(Permission):
    """What the file-storage machine may do."""

    REPORT = "storage:report", CredentialKind.ADDRESS


@implementer(IStorage)
class StorageResource(Resource):
    """``/api/modhub/storage``"""


@implementer(IAddress)
class StorageAddressResource(Resource):
    """``/api/modhub/storage/address``"""

    __acl__ = [(Allow, ADDRESS_KEY_REALM, StoragePermission.REPORT)]


class AddressReport(Struct, rename="camel"):
    """The body of a report."""

    base_url: str


class AddressDocument(Struct, rename="camel"):
    """The answer to a report."""

    base_url: str
    changed: bool


@api(context=IAddress, request_method="POST", permission=StoragePermission.REPORT)
def report_address_view(_context: Any, request: Request) -> AddressDocument:
    """``POST /api/modhub/storage/address``"""
    given = read_json(request, AddressReport)
    try:
        base_url = parse_origin(given.base_url)
    except ValueError:
        message = "The field baseUrl must be a plain https origin such as https://files.example.org:8443."
        raise invalid(message) from None
    return AddressDocument(base_url, store_reported_address(request.dbsession, base_url))


def includeme(config: Configurator) -> None:
    """The address's place in the tree, its utility, and its rule for the server."""
    config.add_service(IStorageAddress, CurrentAddress(find_service(config.registry, Databases).raw_queries))
    config.add_child(ICatalogue, "storage", StorageResource)
    config.add_child(IStorage, "address", StorageAddressResource)
    config.add_body_limit("POST", "/api/modhub/storage/address", limits.JSON_BODY, credential="X-Api-Key")
    config.scan("modhub.storage_address")
