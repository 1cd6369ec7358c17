"""The report of the storage machine, sent with the address key (C-ADDR-1)."""

from typing import Any

from modhub.base.errors import invalid
from modhub.base.operations import Operation, Refusal
from modhub.content.origins import parse_origin
from modhub.storage_address.request_schemas import AddressReport
from modhub.storage_address.resources import IAddress, StoragePermission
from modhub.storage_address.response_schemas import AddressDocument
from modhub.storage_address.services import store_reported_address
from modhub.web.payload import read_json
from modhub.web.request import Request
from modhub.web.views import api


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
        clauses=("C-ADDR-1", "C-ADDR-2", "C-ADDR-3", "C-ADDR-4", "C-ADDR-5", "C-ADDR-6"),
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
