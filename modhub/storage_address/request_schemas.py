"""The request body of a report."""

from msgspec import Struct


class AddressReport(Struct, rename="camel"):
    """The body of a report."""

    base_url: str
