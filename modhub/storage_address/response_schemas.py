"""What the storage machine is answered."""

from msgspec import Struct


class AddressDocument(Struct, rename="camel"):
    """The answer to a report."""

    base_url: str
    changed: bool
