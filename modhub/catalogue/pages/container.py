"""The readers of the pages, one container for each application."""

from dataclasses import dataclass
from typing import Any

from modhub.base.service_registry import find_optional_service, find_service
from modhub.catalogue.pages.groups import GroupReader
from modhub.catalogue.pages.reader import PageReader
from modhub.catalogue.reading.chain_archives import ArchiveTurns
from modhub.catalogue.reading.service import CatalogueReader
from modhub.plugins.services import IProfiles


@dataclass(frozen=True, slots=True)
class PageServices:
    """What the pages read with, registered by this class."""

    pages: PageReader
    groups: GroupReader
    archive_turns: ArchiveTurns


def register_page_services(registry: Any) -> None:
    """Register them, after all features: one of them may have the names of authors."""
    catalogue, profiles = find_service(registry, CatalogueReader), find_optional_service(registry, IProfiles)
    pages, names = PageReader(catalogue), None if profiles is None else profiles.columns
    registry[PageServices] = PageServices(pages, GroupReader(catalogue, names), ArchiveTurns())
