"""No address accepts a large body from a caller who is rejected anyway."""

import json
from pathlib import Path

import pytest

from modhub.base.body_rules import ASKED_ABOVE_BYTES, BodyRules
from modhub_testing import TEST_ACCOUNTS
from modhub_testing.mods import OWNER, new_mod, published_mod
from modhub_testing.running_server import RawClient, running

pytestmark = pytest.mark.slow

MB = 1024 * 1024
FEATURES = f"{TEST_ACCOUNTS} modhub_builds modhub_sync modhub_wiki"
KEY = "k" * 64
ORIGIN = "http://127.0.0.1:6543"


@pytest.fixture
def site(start):
    return start(FEATURES, ApiPrivateKeys=f"{KEY} Modhub:app Modhub:wiki", modhub__storage_address_key="a" * 40)


@pytest.fixture
def service(site):
    with running(site.app) as service:
        yield service
    assert service.adj.body_bytes == 0


def head(method, path, *lines):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def comparable(answer):
    fields = {name: value for name, value in answer.fields.items() if name not in {"date", "x-request-id"}}
    return answer.status, fields, answer.body


LARGE = [
    ("POST", "/api/modhub/{id}/code?version=1", "Authorization", 401),
    ("PUT", "/Modhub/api/wiki/page", "X-Api-Key", 401),
    ("POST", "/Modhub/mine/{id}/code", "Cookie", 303),
    ("POST", "/Modhub/mine/new", "Cookie", 303),
    ("POST", "/api/nowhere", "X-None", 404),
]
"""A call with each credential; `test_every_address_for_large_bodies_names_its_credential` knows the others."""


@pytest.mark.parametrize(
    ("worthless", "framing", "kind"),
    [
        (False, "Content-Length: 1000000", "multipart/form-data; boundary=x"),
        (True, "Transfer-Encoding: chunked", "multipart/form-data; boundary=x"),
        (False, "Content-Length: 300000", "application/x-www-form-urlencoded"),
    ],
)
def test_who_is_nobody_is_refused_at_the_head(site, service, worthless, framing, kind):
    # C-ERR-20, T-D3
    mod = new_mod(site)
    for method, path, credential, status in LARGE:
        lines = [framing, f"Origin: {ORIGIN}", f"Content-Type: {kind}"]
        with RawClient(service) as client:
            client.send(head(method, path.format(id=mod["id"]), *lines, *[f"{credential}: x"] * worthless))
            answer = client.answer()
            assert (answer.status, answer.fields["connection"]) == (status, "close"), (path, answer)
            if status == 303:
                assert answer.fields["location"].startswith("/Modhub/account/login?next=")
            assert service.adj.body_bytes == 0


def test_a_form_of_another_site_is_refused_at_the_head(site, service):
    lines = ["Origin: https://evil.example", "Content-Length: 5000000", f"Cookie: account={OWNER}"]
    with RawClient(service) as client:
        answer = client.ask(head("POST", f"/Modhub/mine/{new_mod(site)['id']}/code", *lines))
        assert answer.status == 403


@pytest.mark.parametrize("size", [1000, 1_000_000])
@pytest.mark.parametrize("path", ["code?version=1", ""])
def test_a_mod_that_is_not_ones_own_is_one_that_is_not_there(site, service, size, path):
    mod = new_mod(site)
    for credential, method, prefix in (
        ("Authorization: Bearer account-8", "POST" if path else "PUT", "/api/modhub"),
        ("Cookie: account=8", "POST", "/Modhub/mine"),
    ):
        answers = []
        for number in (mod["id"], 999_999):
            with RawClient(service) as client:
                address = f"{prefix}/{number}/{path}".rstrip("/")
                client.send(head(method, address, credential, f"Content-Length: {size}"))
                if size <= ASKED_ABOVE_BYTES:
                    client.send(b"x" * size)
                answers.append(comparable(client.answer()))
        assert answers[0] == answers[1]
        assert answers[0][0] == (401 if prefix.startswith("/api") else 404)


def test_a_used_version_is_refused_at_the_head(site, service):
    # C-ERR-20, C-UP-4
    mod, bearer = published_mod(site), f"Authorization: Bearer account-{OWNER}"
    path = f"/api/modhub/{mod['id']}/code?version="
    for lines in (
        ["Content-Length: 5000000"],
        ["Transfer-Encoding: chunked"],
        ["Content-Length: 9", "Expect: 100-continue"],
    ):
        with RawClient(service) as client:
            answer = client.ask(head("POST", path + "1", bearer, *lines))
            refused = json.loads(answer.body)
            assert (answer.status, refused["error"], refused["version"]) == (409, "version_used", "1")
            assert refused["bytes"] == mod["assets"][0]["bytes"]
    with RawClient(service) as client:
        # Input comes before state.
        assert client.ask(head("POST", path + "1", bearer, "Content-Length: 67108865")).status == 413
    with RawClient(service) as client:
        body = b"x" * MB
        answer = client.ask(head("POST", path + "2", bearer, f"Content-Length: {len(body)}") + body)
        assert answer.status == 201


def test_beyond_the_limit_a_large_body_is_503_if_permitted_and_401_if_not(site):
    # C-ERR-21
    mod, bearer = new_mod(site), f"Authorization: Bearer account-{OWNER}"
    path = f"/api/modhub/{mod['id']}/code?version=1"
    with running(site.app, spool_bytes=MB) as service:
        for credential, status in ((bearer, 503), ("Authorization: Bearer account-8", 401)):
            with RawClient(service) as client:
                answer = client.ask(head("POST", path, credential, "Content-Length: 2000000"))
                assert (answer.status, answer.fields["connection"]) == (status, "close")
                if status == 503:
                    assert json.loads(answer.body)["error"] == "busy"
                    assert int(answer.fields["retry-after"]) >= 1
        with RawClient(service) as client:
            lines = [f"Cookie: account={OWNER}", "Content-Length: 2000000"]
            form = head(
                "POST", f"/Modhub/mine/{mod['id']}/code", *lines, "Content-Type: multipart/form-data; boundary=x"
            )
            answer = client.ask(form)
            assert (answer.status, answer.fields["retry-after"]) == (503, "2")
            assert b"Try again in a moment" in answer.body
        files = Path(site.registry.settings["modhub.storage"].removeprefix("file://"))
        assert not list((files / "staging").iterdir())


def test_every_address_for_large_bodies_names_its_credential(start):
    """A large body is refused because the header is missing, or by the view that is asked about it."""
    rules = start(f"modhub_auth {FEATURES.removeprefix(TEST_ACCOUNTS)}").find_service(BodyRules)
    large = [entry for entry in rules._entries if entry.rule.limit > ASKED_ABOVE_BYTES]
    open_to_all = {entry.segments for entry in large if entry.rule.credential is None}
    # Forms of text, which are kept for who has to sign in again; plans and locks of thousands of mods.
    mine, plan = ("Modhub", "mine"), ("api", "modhub", "plan")
    own = (*mine, None)
    forms = {(*mine, "new"), own, (*own, "captions"), (*own, "changelog", None), (*own, "what-changed")}
    assert open_to_all == {*forms, plan, (*plan, "check")}
