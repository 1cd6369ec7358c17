"""The list of all checks, and the features that a deployment may leave out."""

from typing import Final

from modhub_client.verify import (
    follow_changes,
    follow_plans,
    own_access,
    own_account,
    own_drafts,
    own_public,
    own_uploads,
    publish_checks,
    read_chains,
    read_errors,
    read_features,
    read_feeds,
    read_files,
    read_http,
    read_lists,
    read_mods,
)
from modhub_client.verify.checks import ContractCheck, checks_of
from modhub_client.verify.service import VerifiedService

CHECKS: Final[tuple[ContractCheck, ...]] = tuple(
    checks_of(
        read_lists,
        read_mods,
        read_chains,
        read_files,
        read_http,
        read_errors,
        read_feeds,
        read_features,
        follow_changes,
        follow_plans,
        # In the order of the life of one mod.
        own_account,
        own_drafts,
        own_uploads,
        own_access,
        own_public,
        publish_checks,
    )
)


FEATURE_SIGNS: Final = {
    "modhub_auth": "/api/auth/me",
    "modhub_builds": "/api/modhub/app",
    "modhub_sync": "/api/modhub/changes",
    "modhub_wiki": "/Modhub/api/wiki",
    "modhub_downloads": "/api/modhub/{id}/downloads",
    "modhub_profiles": "/api/modhub/{id}/links",
    "modhub_tags": "/api/modhub/tags",
    "modhub_moderation": "/api/modhub/advisories",
}
"""A path of the API's description, which is 404 without the feature."""
PAGE_SIGNS: Final = {"modhub_following": "/Modhub/following"}
"""A page that is 404 without the feature."""


def find_features(service: VerifiedService) -> frozenset[str]:
    """The features of the deployment, by its description or, without one, by what is 404."""
    reply = service.get("/api/openapi.json")
    described: object = {}
    if reply.status == 200 and reply.media_type == "application/json":
        described = reply.document().get("paths")
    paths = frozenset(described if isinstance(described, dict) else ())
    found = {name for name, path in FEATURE_SIGNS.items() if path in paths}
    asked = PAGE_SIGNS if paths else FEATURE_SIGNS | PAGE_SIGNS
    mod_id = _any_mod(service) if not paths else 0
    return frozenset({"core", *found, *(name for name, path in asked.items() if _is_there(service, path, mod_id))})


def _is_there(service: VerifiedService, path: str, mod_id: int) -> bool:
    return service.get(path.replace("{id}", str(mod_id))).status != 404


def _any_mod(service: VerifiedService) -> int:
    mods = service.get("/api/modhub?size=1").document().get("mods") or [{}]
    return int(mods[0].get("id", 0))
