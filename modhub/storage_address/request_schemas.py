"""The request body of a report."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about


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
