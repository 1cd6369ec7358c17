"""Names of authors, if a feature provides profiles."""

from collections.abc import Iterable, Mapping
from typing import Final

from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.plugins.services import IProfiles, Profile
from modhub.web.request import Request

_FOUND: Final = "modhub.authors"


def find_authors(request: Request, mods: Iterable[ModPresenter]) -> Mapping[int, Profile | None]:
    """Return at least the authors of these mods by account; none without :class:`IProfiles`.

    One lookup of those that the request has not asked for yet: the rows of a page have many in common.
    """
    profiles = find_optional_service(request.registry, IProfiles)
    if profiles is None:
        return {}
    authors: dict[int, Profile | None] = request.environ.setdefault(_FOUND, {})
    unknown = {mod.owner for mod in mods} - authors.keys()
    if unknown:
        authors.update(dict.fromkeys(unknown))
        authors.update(profiles.get_profiles(unknown))
    return authors
