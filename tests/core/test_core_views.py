"""Every registered view has a permission or is declared open."""

import sys
import types

from pyramid.interfaces import IExceptionResponse
from pyramid.security import NO_PERMISSION_REQUIRED
from webob.exc import WSGIHTTPException

from modhub.base.identity import CorePermission, CredentialKind, Permission
from modhub.plugins.resources import ICatalogue
from modhub_testing.reference import methods_of

WRITE_NOTHING = {"preferences", "details"}
"""Open views that take a POST: one changes cookies of that browser alone, the other answers a question."""


def is_pyramids_own(view):
    """Static files, and the views that return a raised response unchanged."""
    raised = view["context"] in {IExceptionResponse, WSGIHTTPException}
    return raised or str(view["route_name"] or "").startswith("__")


def permission_of(site, view):
    related = [entry for entry in site.config.introspector.related(view) if entry.category_name == "permissions"]
    return related[0]["value"] if related else NO_PERMISSION_REQUIRED


def test_every_view_says_its_side_its_methods_and_who_may(start):
    whole = start()
    introspected = [entry["introspectable"] for entry in whole.config.introspector.get_category("views")]
    all_views = [view for view in introspected if not view["exception_only"] and not is_pyramids_own(view)]
    # What may be missing is a whole scan: one view of each folder.
    assert {"healthz", "mine", "code", "download", "feed", "preview", "doc"} <= {view["name"] for view in all_views}
    for view in all_views:
        permission, methods = permission_of(whole, view), methods_of(view)
        name = f"{view['context']} {view['name']!r} {view['request_methods']}"
        assert view["request_methods"], name
        assert view.get("is_api") in {True, False} or "IRoot" in str(view["context"]), name
        if permission == NO_PERMISSION_REQUIRED:
            assert methods <= {"GET"} or view["name"] in WRITE_NOTHING, f"{name} is open and may write"
        else:
            assert isinstance(permission, Permission), f"{name}: {permission}"
            assert permission is not CorePermission.CLOSED, f"{name} forgot its permission"
            assert permission.credential is not CredentialKind.NONE, f"{name} asks for no credential"


def test_a_view_whose_author_forgot_is_closed(start, monkeypatch):
    def forgetful(config):
        config.include("modhub")
        config.add_view(lambda *_: {"secret": 1}, context=ICatalogue, name="forgotten", is_api=True, renderer="json")

    module = types.ModuleType("forgetful_feature")
    module.includeme = forgetful
    monkeypatch.setitem(sys.modules, "forgetful_feature", module)
    site = start("modhub_testing.accounts forgetful_feature", url=start().registry.settings["sqlalchemy.url"])
    for caller in (site, site.as_account(7)):
        assert caller.get("/api/modhub/forgotten", status=404).json["error"] == "not_found"
