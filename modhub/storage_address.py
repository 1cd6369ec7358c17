"""The address that the file-storage machine reports of itself (interface, "Internal endpoints"; decisions 6).

Kept in the database, so that every process follows a change; offered as :class:`modhub.interfaces.IStorageAddress`. The
report makes no outgoing request: what it names is only stored.
"""

import re
import time
from collections.abc import Callable
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Final

from msgspec import Struct
from pyramid.authorization import Allow
from pyramid.config import Configurator
from sqlalchemy import String, or_, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column
from zope.interface import Interface, implementer

from modhub import bulk, limits
from modhub.credentials import ADDRESS
from modhub.db import Base, Timestamp, now
from modhub.errors import invalid
from modhub.identity import Credential, Permission
from modhub.interfaces import ICatalogue, IStorageAddress
from modhub.payload import read_json
from modhub.reader import Reader
from modhub.request import Request
from modhub.tree import Resource
from modhub.views import api

STALE_SECONDS: Final = 2.0
"""How old a read address may be; every process must follow a change within 5 seconds (decisions 6)."""

_ROW: Final = 1
_ORIGIN = re.compile(r"https://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([1-9][0-9]{0,4}))?/?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*")
_THIS_NETWORK = 0


class StoredAddress(Base):
    """The one row of the address; ``base_url`` is None until the first report."""

    __tablename__ = "core_storage_address"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    base_url: Mapped[str | None] = mapped_column(String(300))
    reported_at: Mapped[datetime | None] = mapped_column(Timestamp)


def parse_origin(value: str) -> str:
    """``https://host[:port]`` in lower case without the default port; ``ValueError`` for what is no plain https origin.

    Taken as sent: nothing is trimmed or repaired. A host is a name, or the literal of an address that is not of a
    loopback, link-local, multicast or unspecified range.
    """
    match = _ORIGIN.fullmatch(value.lower()) if value.isascii() else None
    if match is None:
        raise ValueError("no origin")
    port = int(match[2] or 443)
    if port > 65535:
        raise ValueError("no port")
    host = _literal(match[1]) if match[1].startswith("[") else _name(match[1])
    return f"https://{host}" + ("" if port == 443 else f":{port}")


def _literal(bracketed: str) -> str:
    address = IPv6Address(bracketed[1:-1])
    _refuse_special(address)
    for inner in _embedded(address):
        _refuse_special(inner)
    return f"[{address.compressed}]"


def _embedded(address: IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 one may reach: mapped, compatible, translated (RFC 6052), 6to4."""
    number = int(address)
    last = IPv4Address(number & 0xFFFFFFFF)
    found = [last] if number >> 32 in {0, 0xFFFF, 0x64FF9B << 64} else []
    return [*found, address.sixtofour] if address.sixtofour else found


def _name(host: str) -> str:
    labels = host.removesuffix(".").split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # A browser would read 127.1 or 0x7f000001 as an address (WHATWG URL, "ends in a number"): plain ones alone.
        address = IPv4Address(host)
        _refuse_special(address)
        return str(address)
    if len(host) > 253 or labels[-1] == "localhost" or not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("no host")
    return host


def _refuse_special(address: IPv4Address | IPv6Address) -> None:
    this_network = address.version == 4 and address.packed[0] == _THIS_NETWORK
    if this_network or any((address.is_loopback, address.is_link_local, address.is_multicast, address.is_unspecified)):
        raise ValueError("an address that no other machine can use")


def report(session: Session, base_url: str) -> bool:
    """Store the address; whether it differs from the stored one. Of equal reports at once one alone answers True."""
    other = or_(StoredAddress.base_url.is_(None), StoredAddress.base_url != base_url)
    change = update(StoredAddress).where(StoredAddress.id == _ROW, other).values(base_url=base_url, reported_at=now())
    return bulk.run(session, change) == 1


@implementer(IStorageAddress)
class CurrentAddress:
    """The address as the database has it, asked at most every :data:`STALE_SECONDS`; one for an application."""

    def __init__(self, reader: Reader, clock: Callable[[], float] = time.monotonic) -> None:
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

    REPORT = "storage:report", Credential.ADDRESS


@implementer(IStorage)
class Storage(Resource):
    """``/api/modhub/storage``"""


@implementer(IAddress)
class Address(Resource):
    """``/api/modhub/storage/address``"""

    __acl__ = [(Allow, ADDRESS, StoragePermission.REPORT)]


class AddressReport(Struct, rename="camel"):
    """The body of a report."""

    base_url: str


class AddressDocument(Struct, rename="camel"):
    """The answer to a report."""

    base_url: str
    changed: bool


@api(context=IAddress, request_method="POST", permission=StoragePermission.REPORT)
def report_address(_context: Any, request: Request) -> AddressDocument:
    """``POST /api/modhub/storage/address``"""
    given = read_json(request, AddressReport)
    try:
        base_url = parse_origin(given.base_url)
    except ValueError:
        message = "The field baseUrl must be a plain https origin such as https://files.example.org:8443."
        raise invalid(message) from None
    return AddressDocument(base_url, report(request.dbsession, base_url))


def includeme(config: Configurator) -> None:
    """The address's place in the tree, its utility, and its rule for the server."""
    config.registry.registerUtility(CurrentAddress(config.registry.databases.reads), IStorageAddress)
    config.add_child(ICatalogue, "storage", Storage)
    config.add_child(IStorage, "address", Address)
    config.add_body_limit("POST", "/api/modhub/storage/address", limits.JSON_BODY, credential="X-Api-Key")
    config.scan("modhub.storage_address")
