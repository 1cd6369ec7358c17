"""The report of the storage machine, sent with the address key (C-ADDR-1)."""

from typing import Annotated, Any

from msgspec import Struct
from pyramid.authorization import Allow
from zope.interface import Interface, implementer

from modhub.base.errors import invalid
from modhub.base.identity import CredentialKind, Permission
from modhub.base.operations import Operation, Refusal, about
from modhub.content.origins import parse_origin
from modhub.plugins.security import ADDRESS_KEY_REALM
from modhub.storage_address.services import store_reported_address
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub.web.views import api


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

    base_url: Annotated[
        str,
        about(
            "A plain https origin: `https`, a host, a port if need be, at most a lone `/` behind it. No "
            "user, query, fragment or spaces; a host of the URL standard; not `localhost`, no name or "
            "address where a cloud tells its machines about themselves, and no address of a loopback, "
            "link-local, multicast, broadcast or unspecified range, nor one of IPv6 that stands for such an "
            "address, nor Teredo",
            "https://files.example.org:8443",
        ),
    ]


class AddressDocument(Struct, rename="camel"):
    """The response to a report."""

    base_url: Annotated[
        str,
        about("The origin in lower case without the default port", "https://files.example.org:8443"),
    ]
    changed: Annotated[bool, about("Whether it differs from what was stored", True)]


@api(
    context=IAddress,
    request_method="POST",
    permission=StoragePermission.REPORT,
    operation=Operation(
        id="report_storage_address",
        about="The file-storage machine reports its address.",
        takes=AddressReport,
        returns=AddressDocument,
        refusals=(
            Refusal(400, "invalid_input", "`baseUrl` is missing or is not such an origin."),
            Refusal(401, "unknown_api_key", "Another key, a machine key, or none is configured."),
        ),
        clauses=("C-ADDR-1", "C-KEY-2", "C-ADDR-3", "C-ADDR-5"),
    ),
)
def report_address_view(_context: Any, request: Request) -> AddressDocument:
    """``POST /api/modhub/storage/address``"""
    report = read_json(request, AddressReport)
    try:
        base_url = parse_origin(report.base_url)
    except ValueError:
        message = "The field baseUrl must be a plain https origin such as https://files.example.org:8443."
        raise invalid(message) from None
    return AddressDocument(base_url, store_reported_address(request.dbsession, base_url))
