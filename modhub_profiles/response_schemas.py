"""The JSON of links."""

from typing import Annotated

from msgspec import Struct

from modhub.base.operations import about
from modhub_profiles.models import ModLinks
from modhub_profiles.read_service import ShownLinks


class LinksDocument(Struct):
    """``GET`` and ``PUT /api/modhub/{id}/links``; null where the owner has set nothing."""

    source: Annotated[str | None, about("Where its source code is", "https://github.com/ada/split-timer")]
    report: Annotated[
        str | None,
        about("Where problems with it are reported to its author", "https://github.com/ada/split-timer/issues"),
    ]
    community: Annotated[str | None, about("Where its users meet", None)]
    license: Annotated[
        str | None,
        about("An SPDX licence expression; or `other: ` and the owner's own words", "MIT"),
    ]


def links_document(links: ModLinks | ShownLinks) -> LinksDocument:
    """The document of stored links."""
    return LinksDocument(links.source or None, links.report or None, links.community or None, links.license or None)
