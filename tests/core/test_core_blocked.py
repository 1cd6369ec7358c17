"""The core rejects blocked accounts before anything else, whichever feature provides accounts."""

from typing import Any

from modhub.base.identity import CredentialKind, Permission
from modhub_testing import Site
from modhub_testing.mods import OWNER, mod_address, published_mod


def test_a_blocked_account_may_do_nothing_with_mods(site: Site) -> None:
    # C-OWN-16
    mod = published_mod(site)
    blocked = site.as_account(OWNER, blocked=True)
    answers: list[Any] = [
        blocked.put_json(path, {"title": "Changed"}, status=403) for path in (mod_address(mod), "/api/modhub/987654")
    ]
    answers += [
        blocked.get("/api/modhub/mine", status=403),
        blocked.post_json("/api/modhub", {}, status=403),
        site.as_account(8, blocked=True).put_json(mod_address(mod, "vote"), {"value": 1}, status=403),
    ]
    assert {answer.json["error"] for answer in answers} == {"account_blocked"}
    assert len({answer.body for answer in answers}) == 1
    assert blocked.get(mod_address(mod), status=200).json["title"] == mod["title"]
    site.as_account(OWNER).put_json(mod_address(mod), {"title": "Changed"}, status=200)


def test_only_reading_oneself_is_for_the_blocked(start: Any) -> None:
    start("modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki")
    kinds = [kind for kind in Permission.__subclasses__() if kind.__module__.startswith("modhub")]
    members = [permission for kind in kinds for permission in kind if permission.credential is CredentialKind.ACCOUNT]  # type: ignore[attr-defined]
    assert len(members) > 4
    assert {str(permission) for permission in members if permission.for_blocked} == {"account:read"}
