"""Names of authors, if a feature provides profiles."""

from collections.abc import Iterable, Mapping

from modhub.base.service_registry import find_optional_service
from modhub.catalogue.pages.presenters.mod import ModPresenter
from modhub.http.request import Request
from modhub.interfaces import IProfiles, Profile


def find_authors(request: Request, mods: Iterable[ModPresenter]) -> Mapping[int, Profile]:
    """Return the authors of these mods by account, in one lookup; none without :class:`IProfiles`."""
    profiles = find_optional_service(request.registry, IProfiles)
    owners = {mod.owner for mod in mods}
    return profiles.get_profiles(owners) if profiles is not None and owners else {}
