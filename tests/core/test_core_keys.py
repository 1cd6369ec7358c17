"""Machine keys and the address key."""

import sys
import types
from typing import Any

import pytest
from pyramid.config import Configurator
from zope.interface import implementer

from modhub.base.identity import CredentialKind, Permission, principal_for_scope
from modhub.plugins.resources import IApi, IResource
from modhub.plugins.security import ADDRESS_KEY_REALM, MACHINE_KEY_REALM
from modhub.web.request import Request
from modhub.web.traversal import Resource
from modhub_testing import Start

pytestmark = pytest.mark.slow

KEYS = "first-key\n\n   \nwiki-key Modhub:wiki\n  both-key   Modhub:wiki  Modhub:app\nschlüssel-ключ\n"
ADDRESS_KEY = "the-address-key"


class KeyedPermission(Permission):
    APP = "test:app", CredentialKind.MACHINE
    WIKI = "test:wiki", CredentialKind.MACHINE
    REPORT = "test:report", CredentialKind.ADDRESS


class IKeyed(IResource):
    """A resource that needs a key."""


@implementer(IKeyed)
class Keyed(Resource):
    __acl__ = [
        ("Allow", principal_for_scope("Modhub:app"), KeyedPermission.APP),
        ("Allow", principal_for_scope("Modhub:wiki"), KeyedPermission.WIKI),
        ("Allow", ADDRESS_KEY_REALM, KeyedPermission.REPORT),
    ]


def keyed_feature(config: Configurator) -> None:
    """One address for each permission."""
    config.include("modhub")
    config.add_child(IApi, "keyed", Keyed)
    config.add_scope("Modhub:app", "test the keys", default=True)
    for permission in KeyedPermission:
        name = permission.value.partition(":")[2]
        config.add_view(
            lambda _context, _request: {"ok": True},
            context=IKeyed,
            name=name,
            is_api=True,
            renderer="json",
            permission=permission,
            request_method="POST",
        )


@pytest.fixture
def keyed(start: Start, monkeypatch: pytest.MonkeyPatch) -> Any:
    module = types.ModuleType("keyed_feature")
    module.includeme = keyed_feature  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyed_feature", module)
    return lambda **settings: start("keyed_feature", fresh=True, **settings)


def ask(site: Any, url: str, key: str | bytes | None, method: str = "POST") -> tuple[int, Any]:
    headers = {}
    if key is not None:
        raw = key if isinstance(key, bytes) else key.encode()
        headers["X-Api-Key"] = raw.decode("latin-1")
    answer = site._gen_request(method, url, headers=headers, expect_errors=True)
    if answer.status_int == 401:
        assert answer.headers["WWW-Authenticate"] == 'ApiKey realm="modhub"'
        assert answer.headers["Cache-Control"] == "no-store"
    return answer.status_int, answer.json


def refused(code: str) -> tuple[int, dict[str, str]]:
    return 401, {"error": code}


def test_the_key_test_takes_any_valid_key_whole_and_nothing_else(keyed: Any) -> None:
    # C-ERR-2, C-KEY-2, C-KEY-3, T-C11
    site = keyed(ApiPrivateKeys=KEYS, modhub__storage_address_key=ADDRESS_KEY)
    for good in ("first-key", "wiki-key", "both-key", "schlüssel-ключ"):
        assert ask(site, "/api/modhub/key", good, "GET") == (200, {"ok": True})
    bad = ["", " ", "first-ke", "first-key2", "First-key", "first-key, wiki-key", "wiki-key Modhub:wiki", "\t"]
    bad += ["Modhub:wiki", ADDRESS_KEY, "schlussel", "x" * 200_000, "first-key\x00", "first-key "]
    for key in (*bad, b"\xff\xfe", b"first-key\xff"):
        assert ask(site, "/api/modhub/key", key, "GET") == refused("unknown_api_key"), key
    assert ask(site, "/api/modhub/key", None, "GET") == refused("no_api_key")
    bearer = site.get("/api/modhub/key", headers={"Authorization": "Bearer first-key"}, status=401)
    assert bearer.json == {"error": "no_api_key"}
    assert site.post("/api/modhub/key", status=405).headers["Allow"] == "GET, HEAD"


def test_scopes_open_what_they_name_and_nothing_else(keyed: Any) -> None:
    # C-KEY-1, C-KEY-4, T-C11
    site = keyed(ApiPrivateKeys=KEYS, modhub__storage_address_key=ADDRESS_KEY)
    opens = {"first-key": {"app"}, "wiki-key": {"wiki"}, "both-key": {"app", "wiki"}, ADDRESS_KEY: {"report"}}
    for key, allowed in opens.items():
        for name in ("app", "wiki", "report"):
            expected = (200, {"ok": True}) if name in allowed else refused("unknown_api_key")
            assert ask(site, f"/api/keyed/{name}", key) == expected, (key, name)
    for name in ("app", "wiki", "report"):
        assert ask(site, f"/api/keyed/{name}", None) == refused("no_api_key")


def test_the_scopes_of_a_key_without_one_are_the_features_to_say(start: Start) -> None:
    def scopes(includes: str) -> set[str]:
        site = start(includes, ApiPrivateKeys="bare\nwiki Modhub:wiki")
        assert ask(site, "/api/modhub/key", "bare", "GET") == (200, {"ok": True})
        credential = site.declarations.credentials[CredentialKind.MACHINE, IApi]
        principals = credential.identify(Request.blank("/", headers={"X-Api-Key": "bare"})).principals
        return set(principals) - {MACHINE_KEY_REALM}

    assert scopes("") == set()
    assert scopes("modhub_wiki") == set()
    assert scopes("modhub_wiki modhub_builds") == {"scope:Modhub:app"}
