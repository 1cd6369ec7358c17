"""The JSON of links."""

from msgspec import Struct

from modhub_profiles.models import ModLinks
from modhub_profiles.read_service import ShownLinks


class LinksDocument(Struct):
    """``GET`` and ``PUT /api/modhub/{id}/links``; None where the owner has set nothing."""

    source: str | None = None
    report: str | None = None
    community: str | None = None
    license: str | None = None


def links_document(links: ModLinks | ShownLinks) -> LinksDocument:
    """The document of stored links."""
    return LinksDocument(links.source or None, links.report or None, links.community or None, links.license or None)
