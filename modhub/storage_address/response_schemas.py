"""The response to a report."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about


class AddressDocument(Struct, rename="camel"):
    """The response to a report."""

    base_url: Annotated[
        str,
        about("The origin in lower case without the default port", "https://files.example.org:8443"),
    ]
    changed: Annotated[bool, about("Whether it differs from what was stored", True)]
