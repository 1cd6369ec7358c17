"""A check turns red on a service that breaks what it is about: one of each kind, and drafts by every route."""

import gzip

import pytest

from modhub_client.verify import owner
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.report import CheckState
from modhub_client.verify.run import UNKNOWN_GUID, UNKNOWN_ID
from modhub_testing.broken_service import (
    Fault,
    answers,
    asks,
    at,
    body,
    document,
    header,
    ignores,
    receives_body,
    replaces,
    status,
    when,
)

from .conftest import BY_KEY, BY_TRACES

pytestmark = pytest.mark.long

LIST, ONE, API = "/api/modhub/?", "/api/modhub/[0-9]+", "/api/.*"
CHANGES, SNAPSHOT = "/api/modhub/changes", "/Modhub/snapshot/[0-9a-f]{64}"
NOBODY = "/api/modhub/9007199254740993"


class Draft:
    """Remembers the mod that was created last, published or not, to show it where nobody may see it."""

    def __init__(self):
        self.guid = ""
        self.created = Fault("POST /api/modhub", after=self._learn)

    def _learn(self, _request, response):
        if response.status_int == 201:
            self.guid = response.json["guid"]

    def leaks(self, call):
        """Responses to those calls name it."""
        return [
            self.created,
            Fault(call, after=lambda _, response: setattr(response, "body", response.body + self.guid.encode())),
        ]

    def changes(self):
        """It is a change."""
        change = document("GET .*/changes.*", lambda value: value["changes"].append({"guid": self.guid, "what": "x"}))
        return [self.created, change]


def each_mod(change):
    return document(at(LIST), lambda listed: [change(mod) for mod in listed["mods"]])


def by_cookie(request, response):
    if request.cookies and response.body:
        response.body = response.body + b" "


def resurrected(content):
    """The snapshot with a mod that was deleted, whose GUID is that of the changes."""
    return gzip.compress(gzip.decompress(content) + b'{"guid": "%s"}\n' % UNKNOWN_GUID.encode())


def long_deleted(page):
    for change in page["changes"]:
        if change["what"] == "deleted":
            change.update(guid=UNKNOWN_GUID, at="2020-01-01T00:00:00.000000Z")


def has_header(name):
    return lambda request, _: name in request.headers


FAULTS = [
    # What everybody reads
    ("a list has published mods only", each_mod(lambda mod: mod.update(published=False))),
    (
        "a search folds letters that are no accents",
        asks(at(LIST), lambda query: query.update(q="zqxjkvbwpqzx") if query.get("q") == "ß" else None),
    ),
    (
        "a file is sandboxed and never sniffed",
        header(at(f"{ONE}/download"), "Content-Security-Policy", "default-src 'none'"),
    ),
    ("reading needs no credential and minds none", Fault(at(API), after=by_cookie)),
    (
        "errors show nothing of the inside",
        replaces(at("/Modhub/unheard-of"), "</main>", "Traceback (most recent call last)</main>"),
    ),
    ("credentials are checked before input", status(at(LIST, "POST"), 400)),
    ("an absent mod is 404", document(at(NOBODY), lambda error: error.update(message="Hidden."))),
    (
        "every schema that is named is there",
        document(at("/api/openapi.json"), lambda api: api["components"]["schemas"].pop("ModDocument")),
    ),
    # What is followed
    ("changes come by rising serial", document(at(CHANGES), lambda page: page["changes"].reverse())),
    ("another feed begins again", asks(at(CHANGES), lambda query: query.pop("feed", None))),
    ("no snapshot has a mod that was deleted", body(at(SNAPSHOT), resurrected), document(at(CHANGES), long_deleted)),
    # What an account owns
    (
        "a wrong address and a wrong password are one answer",
        when("POST /api/auth/login", lambda request, _: b"nobody" in request.body, 404),
    ),
    (BY_TRACES, document(f"PUT {ONE}/vote", lambda votes: votes.update(ups=votes["ups"] + 1))),
    (BY_KEY, status(f"DELETE {ONE}", 204)),
    (
        "without a token every owner call is one 401",
        status(f"(PUT|POST|DELETE|GET) /api/modhub/{UNKNOWN_ID}.*", 404, only=401),
    ),
    ("an upload is the file itself", ignores("POST .*/css.*", "Content-Encoding")),
    ("an empty file is refused", receives_body("POST .*/code.*", lambda sent: sent or b" ")),
    # What nobody may see
    ("a draft is not read", when(f"GET {ONE}", has_header("Authorization"), 200)),
    ("a draft is not read", status("GET .*/changelog", 200)),
    ("a draft is not read", status("GET .*/download", 403)),
    ("the tags of a draft are not read", *Draft().leaks(f"GET {ONE}/tags")),
    ("no file of a draft is served", status("GET /Modhub/file/.*", 200)),
    (
        "a draft is in no list and no total",
        document(r"GET /api/modhub\?q=.*", lambda listed: listed.update(total=listed["total"] + 1)),
    ),
    (
        "the page of a draft is the same 404 for everybody",
        body(f"GET /Modhub/{UNKNOWN_ID}", lambda page: page + b"Nothing was ever here."),
    ),
    ("a draft is in no group of a search", *Draft().leaks(r"GET /Modhub/descriptions\?.*")),
    ("no page feed or map shows a draft", *Draft().leaks("GET /Modhub/feed")),
    ("the guid of a draft is unknown", status("GET /api/modhub/guid/[0-9A-F-]+", 403)),
    ("a draft is missing to programs that follow", document("POST .*/lookup", lambda value: value.update(missing=[]))),
    ("a draft is missing to programs that follow", document("POST .*/plan", lambda value: value.update(missing=[]))),
    (
        "a draft is missing to programs that follow",
        document("POST .*/updates", lambda value: value.update(gone=[], same=1)),
    ),
    ("a draft is no change", *Draft().changes()),
    ("a deleted mod is gone", answers(f"DELETE {ONE}", 204)),
    # What a machine publishes
    ("other keys are refused", status("GET .*/key", 200)),
    ("bad pages are refused", receives_body("PUT .*/wiki/.*", lambda sent: sent.replace(b"\xff", b"x"))),
    (
        "a section is put on top and taken back",
        document("POST .*/changelog", lambda value: value.update(characters=99)),
    ),
]
"""The name of a check, and what is broken so that it must notice."""
BY_NAME = {check.name: check for check in CHECKS}


@pytest.mark.parametrize(("name", "faults"), [(name, faults) for name, *faults in FAULTS])
def test_a_fault_turns_its_check_red(verified, monkeypatch, name, faults):
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    verified.faulty.faults = faults
    (result,) = verified.verify([BY_NAME[name]], verified.publisher if name == BY_KEY else None).results
    assert result.state is CheckState.BROKEN, result.detail
