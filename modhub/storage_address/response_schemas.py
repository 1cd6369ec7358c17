"""The response to a report."""

from msgspec import Struct


class AddressDocument(Struct, rename="camel"):
    """The response to a report."""

    base_url: str
    changed: bool
