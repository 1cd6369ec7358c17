"""The core rejects blocked accounts before anything else, whichever feature provides accounts."""

from modhub.base.identity import CredentialKind, Permission


def test_only_reading_oneself_is_for_the_blocked(start):
    start("modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki")
    kinds = [kind for kind in Permission.__subclasses__() if kind.__module__.startswith("modhub")]
    members = [permission for kind in kinds for permission in kind if permission.credential is CredentialKind.ACCOUNT]
    assert len(members) > 4
    assert {str(permission) for permission in members if permission.for_blocked} == {"account:read"}
