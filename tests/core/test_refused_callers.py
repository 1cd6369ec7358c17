"""Callers who are refused never wait for a lock, and never take one: who may is decided by reading alone."""

import time
from contextlib import contextmanager

import pytest
from pyramid.security import NO_PERMISSION_REQUIRED
from sqlalchemy import text

from modhub.web.request import SAFE_METHODS, is_api_path
from modhub.web.traversal import OwnedResource, Resource
from modhub_testing.mods import insert_mods
from modhub_testing.reference import methods_of, served_views
from tests.people import cheap_hashes, register

pytestmark = pytest.mark.slow

FEATURES = (
    "modhub_auth modhub_following modhub_builds modhub_sync modhub_wiki modhub_downloads "
    "modhub_profiles modhub_tags modhub_bookmarks"
)
LOCK_SECONDS = 1
PAGE_REFUSALS = {303, 401, 403, 404}

on_sqlite = pytest.mark.parametrize("dialect", ["sqlite"])  # it has one lock for all


@pytest.fixture
def site(start, guide_feature, monkeypatch):
    """Every feature, and that of docs/writing-a-feature.md. Mod 1 with bookmark 1 is of account 1."""
    with cheap_hashes(monkeypatch):
        site = start(FEATURES, fresh=True, modhub__lock_seconds=str(LOCK_SECONDS))
    owner = signed_in(site, "Owner")
    insert_mods(site, [{"owner": 1}])
    owner.post_json("/api/modhub/1/bookmarks", {"text": "mine"}, status=201)
    return site


def signed_in(site, name):
    """The site as a new account: signed in at its pages, and with a token for the API."""
    person = register(site, name)
    person.pages.extra_environ = {**site.extra_environ, "HTTP_AUTHORIZATION": f"Bearer {person.token}"}
    return person.pages


def unsafe_calls(site, complete):
    """(method, address) of all closed views that may write; ``complete`` fills an address in or leaves it out."""
    closed = set()
    for address, resource, view in served_views(site):
        related = site.config.introspector.related(view)
        permissions = {entry["value"] for entry in related if entry.category_name == "permissions"}
        completed = complete(address, resource)
        if permissions - {NO_PERMISSION_REQUIRED} and completed is not None:
            closed |= {(method, completed) for method in methods_of(view) - SAFE_METHODS}
    return sorted(closed)


@contextmanager
def writer(site):
    """Another connection writes."""
    with site.databases.write_session.begin() as session:
        session.execute(text("SELECT 1"))
        yield


def refusals(caller, calls):
    """The status of each call while another connection writes; none of them may begin a transaction that writes."""
    page = caller.get("/Modhub/account").maybe_follow()
    tokens = [form["csrf_token"].value for form in page.forms.values() if "csrf_token" in form.fields]
    statuses = {}
    with writer(caller):
        for method, address in calls:
            started_at = time.monotonic()
            with caller.counted() as statements:
                if is_api_path(address):
                    sent = {"body": b"{}", "content_type": "application/json"}
                    answer = caller.request(address, method=method, **sent, expect_errors=True)
                else:
                    answer = caller.post(address, {"csrf_token": tokens[0], "follow": "1"}, expect_errors=True)
            statuses[method, address] = answer.status_int
            writes = [sql for sql in statements if sql.startswith("BEGIN")]
            assert not writes, f"{method} {address}, {answer.status}: began to write"
            assert time.monotonic() - started_at < LOCK_SECONDS, f"{method} {address} waited"
    return statuses


def unexpected(statuses, of_the_api):
    """The statuses of the API that are not ``of_the_api``, and those of pages that are no refusal."""
    return {
        call: status
        for call, status in statuses.items()
        if status not in (of_the_api if is_api_path(call[1]) else PAGE_REFUSALS)
    }


@on_sqlite
def test_nobody_is_refused_at_once(site):
    # C-OWN-13
    for segment in ("1", "999999", "x"):
        calls = unsafe_calls(site, lambda address, _resource, segment=segment: address.replace("{}", segment))
        assert {
            ("DELETE", f"/api/modhub/{segment}"),
            ("DELETE", f"/api/modhub/{segment}/bookmarks/{segment}"),
            ("POST", f"/Modhub/{segment}/follow"),
            ("PUT", f"/api/modhub/{segment}/vote"),
        } <= set(calls)
        assert unexpected(refusals(site, calls), {401}) == {}


@on_sqlite
def test_a_stranger_is_refused_at_once(site):
    # C-OWN-12, C-OWN-13
    def of_somebody_else(address, resource):
        return address.replace("{}", "1") if isinstance(resource, OwnedResource) else None

    def absent(address, _resource):
        return address.replace("{}", "999999") if "{}" in address else None

    stranger = signed_in(site, "Stranger")
    calls = unsafe_calls(site, of_somebody_else)
    assert {("DELETE", "/api/modhub/1/bookmarks/1"), ("POST", "/Modhub/mine/1/publish")} <= set(calls)
    assert unexpected(refusals(stranger, calls), {401}) == {}
    calls = unsafe_calls(site, absent)
    assert {("POST", "/api/modhub/999999/bookmarks"), ("POST", "/Modhub/999999/follow")} <= set(calls)
    assert unexpected(refusals(stranger, calls), {401, 404}) == {}


@pytest.mark.parametrize("name", ["exists", "owner"])
def test_a_resource_cannot_answer_with_a_session_of_its_own(name):
    with pytest.raises(TypeError, match=r"Careless must define check_exists\(session\) or find_owner\(session\)"):
        type("Careless", (Resource,), {name: property(lambda self: self.request.dbsession)})
