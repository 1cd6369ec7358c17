"""Every check of the part own is red on a service that breaks what it is about."""

from collections.abc import Callable
from typing import Any

import pytest
from webob import Request, Response

from modhub_client.verify import owner
from modhub_client.verify.parts import CHECKS
from modhub_client.verify.run import UNKNOWN_ID
from modhub_testing.broken_service import (
    Fault,
    answers,
    body,
    document,
    header,
    ignores,
    receives,
    receives_body,
    status,
    when,
)

from .conftest import BY_KEY, BY_TRACES, Verified

pytestmark = pytest.mark.long

MOD = r"/api/modhub/\d+"
ANY = ".*"


class Sticky:
    """Faults that remember what was sent or created before."""

    def __init__(self) -> None:
        self.sent: dict[str, Any] = {}
        self.guid = ""

    def settable(self, name: str) -> list[Fault]:
        """An edit sets this field, as the owner's list has it."""
        return [
            receives(f"PUT {MOD}", lambda value: self.sent.update({name: value[name]})),
            document("GET /api/modhub/mine", lambda value: value["mods"][-1].update(self.sent)),
            document("GET /api/modhub/mine", lambda value: value["mods"][0].update(self.sent)),
        ]

    def leaks(self, call: str) -> list[Fault]:
        """Responses to those calls name the mod that was created last, published or not."""

        def learn(_request: Request, response: Response) -> None:
            if response.status_int == 201:
                self.guid = response.json["guid"]

        return [
            Fault("POST /api/modhub", after=learn),
            Fault(call, after=lambda _, response: setattr(response, "body", response.body + self.guid.encode())),
        ]

    def changes(self) -> list[Fault]:
        """The mod that was created last is a change, published or not."""
        shown = document(
            "GET .*/changes.*", lambda value: value["changes"].append({"guid": self.guid, "what": "edited"})
        )
        return [self.leaks("nothing")[0], shown]


def first(name: str, value: Any) -> Callable[[Any], None]:
    """Change a field of the first entry of the only list of a document."""

    def change(document: Any) -> None:
        entries = next(entries for entries in document.values() if isinstance(entries, list) and entries)
        entries[0][name] = value

    return change


def put(**fields: Any) -> Callable[[Any], None]:
    return lambda value: value.update(fields)


def drop(name: str) -> Callable[[Any], object]:
    return lambda value: value.pop(name)


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Change a field of a document, if it is there and is no null."""

    def change(value: Any) -> None:
        if value.get(name) is not None:
            value[name] = edit(value[name])

    return change


def no_header(name: str) -> Callable[[Request, Response], bool]:
    return lambda request, _: name not in request.headers


FAULTS: dict[str, list[Fault]] = {
    # own_account
    "a sign in answers a session": [document("POST /api/auth/login", drop("displayName"))],
    "the account reads itself": [document("GET /api/auth/me", drop("kind"))],
    "an address is compared without capitals and spaces": [
        when("POST /api/auth/login", lambda request, _: b"OWNER" in request.body, 401)
    ],
    "a wrong address and a wrong password are one answer": [
        when("POST /api/auth/login", lambda request, _: b"nobody" in request.body, 404)
    ],
    "a refresh token works once": [status("POST /api/auth/refresh", 200, only=401)],
    "signing out and forgetting are always 204": [answers("POST /api/auth/logout", 204)],
    "what is no registration is refused": [status("POST /api/auth/register", 201, only=409)],
    "a large body of an account call is refused": [
        document("POST /api/auth/refresh", lambda value: value.pop("limitBytes"))
    ],
    "a publisher key is exchanged and an unknown one is not": [
        document("POST /api/auth/exchange", put(error="unknown"))
    ],
    "a vote is answered with all votes": [document(f"PUT {MOD}/vote", drop("value"))],
    BY_TRACES: [document(f"PUT {MOD}/vote", edited("ups", lambda ups: ups + 1))],
    BY_KEY: [status(f"DELETE {MOD}", 204)],
    "a program asks to be allowed elsewhere": [document("POST /api/auth/device/token", edited("error", str.upper))],
    # own_drafts
    "a new mod is a draft of its account": [document("POST /api/modhub", put(published=True))],
    "every call of its owner answers the whole mod": [document(f"PUT {MOD}", drop("assets"))],
    "an edit changes only what is sent": [
        receives(f"PUT {MOD}", lambda value: "title" in value and value.update(games=value["games"] or []))
    ],
    "a list replaces the stored one and an empty one clears it": [
        receives(f"PUT {MOD}", lambda value: value["requires"] == [] and value.pop("requires"))
    ],
    "bad lists of guids are refused": [receives(f"PUT {MOD}", edited("requires", lambda guids: guids[:50]))],
    "both lists are checked together and a refusal changes neither": [
        receives(f"PUT {MOD}", lambda value: value.setdefault("requires", []))
    ],
    "a refused creation creates nothing": [receives("POST .*", edited("requires", lambda _: []))],
    "what the service sets cannot be edited": Sticky().settable("version"),
    "the list of own mods has the last changed first": [document("GET .*/mine", lambda value: value["mods"].reverse())],
    "an edit of another state is refused": [ignores("PUT .*", "If-Match")],
    "a creation that is repeated creates one mod": [ignores("POST .*", "Idempotency-Key")],
    "a refusal keeps no idempotency key": [status("POST /api/modhub", 409, only=201)],
    "a title is required and cut": [receives("PUT .*", edited("title", lambda title: title[:100]))],
    "a description is cut": [document("PUT .*", edited("description", lambda text: text + "ä"))],
    "games are cleaned": [document("PUT .*", edited("games", sorted))],
    "fifty mods that are not here may be named": [
        receives("PUT .*", edited("conflictsWith", lambda guids: guids[:49]))
    ],
    "a guid is kept as sent and compared without case": [
        document("PUT .*", edited("requires", lambda guids: [guid.lower() for guid in guids]))
    ],
    "the time of change moves with changes only": [document("PUT .*", put(updatedAt="2026-01-01T00:00:00.000000Z"))],
    "games that are no strings are refused": [
        receives("PUT .*", edited("games", lambda games: [str(game) for game in games]))
    ],
    "a body that cannot be read is refused with the name of the field": [
        receives_body("PUT .*", lambda sent: b"{}" if sent == b"[]" else sent)
    ],
    "unknown fields and media types are tolerated": [when("PUT .*", lambda request, _: b"colour" in request.body, 400)],
    "no field makes the service fail": [when("PUT .*", lambda request, _: b"ud800" in request.body, 500)],
    # own_texts
    "text of owners is normalised and stripped": [
        document("PUT .*", edited("title", lambda title: title.replace("é", "e\u0301")))
    ],
    "single lines have no breaks and no overrides": [document("PUT .*", edited("title", "\u202e{}".format))],
    "cleaned html is well formed short and lasting": [document("PUT .*", edited("description", "<em>{}".format))],
    "allowed tags stay": [receives("PUT .*", edited("description", lambda text: text.replace("<kbd>", "")))],
    "only allowed attributes stay": [document("PUT .*", edited("description", lambda text: text + "<a onclick=''>"))],
    "every link of an owner is marked": [
        document("PUT .*", edited("description", lambda text: text.replace(" ugc", "")))
    ],
    "scripts go with their content and other tags alone": [
        receives("PUT .*", edited("description", lambda text: text.replace("<script>", "<b>")))
    ],
    "a preview is what is stored": [document("POST .*/preview", lambda value: value["removed"]["tags"].clear())],
    # own_uploads
    "an upload is the file itself": [ignores("POST .*/css.*", "Content-Encoding")],
    "the text of a file is no file": [receives_body("POST .*/code.*", lambda sent: sent + b"x")],
    "a code file needs a version": [status("POST .*/code.*", 201, only=400)],
    "a version is used once": [status("POST .*/code.*", 200, only=201)],
    "a second file replaces the first and images gather": [document("POST .*/css.*", first("url", "/Modhub/file/9"))],
    "a name is its last part": [document("POST .*/css.*", first("name", ".."))],
    "an empty file is refused": [receives_body("POST .*/css.*", lambda sent: sent or b" ")],
    "a file over its limit is refused and not kept": [document("POST .*/images.*", drop("limitBytes"))],
    "the files of a draft have digests": [
        document("GET .*/files", first("sha256", "0" * 64)),
        document("GET .*/files", lambda value: value["files"].reverse()),
    ],
    "an image can be deleted": [answers("DELETE .*/images/.*", 204)],
    "images have captions and an order": [status("PUT .*/captions", 200, only=400)],
    "an entry can be edited": [document("GET .*/notes", lambda value: value["notes"][0].pop("editedAt"))],
    "nothing but an upload makes an entry": [status("POST .*/changelog", 404)],
    "a deleted entry frees its version": [answers("DELETE .*/changelog/.*", 204)],
    # own_access
    "without a token every owner call is one 401": [
        status(f"(PUT|POST|DELETE|GET) /api/modhub/{UNKNOWN_ID}.*", 404, only=401)
    ],
    "a bad token is 401 and says so": [header(ANY, "WWW-Authenticate", "Bearer")],
    "somebody elses mod is as one that does not exist": [status(f"PUT /api/modhub/{UNKNOWN_ID}", 404, only=401)],
    "credentials come before input and input before state": [when(f"PUT {MOD}", no_header("Authorization"), 400)],
    "a successor is set and cleared": [status("PUT .*/superseded", 200, only=400)],
    "tags replace each other": [document("PUT .*/tags", lambda value: value["tags"].append("more"))],
    "links are checked": [receives("PUT .*/links", lambda value: value["source"] is None and value.clear())],
    "a rehearsal says what visitors would get": [
        document("POST .*/rehearsal", lambda value: value["unpublished"].clear())
    ],
    "pages accept no token and calls no cookie": [status("GET /Modhub/mine", 200)],
    "a file that is declared too large is refused at once": [
        document("POST .*/code.*", put(limitBytes=1)),
        status("POST .*/code.*", 403, only=401),
    ],
    # own_hidden
    "a draft is not read": [when(f"GET {MOD}", lambda request, _: "Authorization" in request.headers, 200)],
    "the changelog of a draft is not read": [status("GET .*/changelog", 200)],
    "a draft is not downloaded": [status("GET .*/download", 403)],
    "the votes of a draft are not read": [status("GET .*/vote", 200)],
    "the captions of a draft are not read": [status("GET .*/captions", 200)],
    "the successor of a draft is not read": [status("GET .*/superseded", 200)],
    "the tags of a draft are not read": Sticky().leaks(f"GET {MOD}/tags"),
    "the downloads of a draft are not read": [status("GET .*/downloads", 200)],
    "the links of a draft are not read": [status("GET .*/links", 200)],
    "no file of a draft is served": [status("GET /Modhub/file/.*", 200)],
    "a draft is in no list and no total": [
        document(r"GET /api/modhub\?q=.*", edited("total", lambda total: total + 1))
    ],
    "the page of a draft is the same 404 for everybody": [
        body(f"GET /Modhub/{UNKNOWN_ID}", lambda page: page + b"Nothing was ever here.")
    ],
    "the archive of a draft is 404": [status("GET .*/everything.zip", 409)],
    "a draft is in no group of a search": Sticky().leaks(r"GET /Modhub/descriptions\?.*"),
    "no page feed or map shows a draft": Sticky().leaks("GET /Modhub/feed"),
    "the guid of a draft is unknown": [status("GET /api/modhub/guid/[0-9A-F-]+", 403)],
    "a draft is missing to who looks it up": [document("POST .*/lookup", put(missing=[]))],
    "a draft is missing from plans": [document("POST .*/plan", put(missing=[]))],
    "a draft is gone to who asks for updates": [document("POST .*/updates", put(gone=[], same=1))],
    "a draft is no change": Sticky().changes(),
    # own_public
    "a draft is published once it has a code file": [status("POST .*/publish", 200, only=409)],
    "everybody reads the published mod": [when(f"GET {MOD}", no_header("Authorization"), 401)],
    "a required draft is missing": [document(f"GET {MOD}", put(missing=[]))],
    "everybody reads the changelog of a published mod": [
        document("GET .*/changelog", lambda value: value["notes"].clear())
    ],
    "everybody downloads the file of a published mod": [body("GET .*/download", lambda content: content[1:])],
    "the file of a published mod has ranges and conditions": [ignores("GET .*/download", "If-Range")],
    "the files of a published mod are harmless": [header("GET /Modhub/file/.*", "Content-Security-Policy", None)],
    "a published mod is found by its words and games": [
        answers(r"GET /api/modhub\?q=angstrom.*", 200, b'{"mods":[],"total":0}')
    ],
    "an owner cannot vote": [status("PUT .*/vote", 200)],
    "the captions of a published mod are read": [document("GET .*/captions", first("caption", ""))],
    "a new version is served at the same address": [answers("POST .*/code.*newer", 201, b"{}")],
    "the feeds of a mod have its versions": [document("GET .*/feed.json", lambda value: value["items"].pop())],
    "the feed of an author has the published mod": [document(r"GET /Modhub/by/\d+/feed.json", put(items=[]))],
    "a draft supersedes nothing": [document("GET .*/superseded", put(supersededBy={"id": 1}))],
    "a published mod is known by its guid": [header("GET /api/modhub/guid/.*", "ETag", '"other"')],
    "plans and updates know a published mod": [document("POST .*/updates", put(changed=[]))],
    "a published mod is one change": [document("GET .*/changes.*", lambda value: value["changes"].clear())],
    "the archive of a published mod has its file": [status("GET .*/everything.zip", 200, only=409)],
    "the downloads of a published mod are read": [document("GET .*/downloads", drop("versions"))],
    # own_deleted
    "a deleted mod is gone": [answers(f"DELETE {MOD}", 204)],
    "the files of a deleted mod are gone": [status("GET /Modhub/file/.*", 200)],
    "no list counts a deleted mod": [document(r"GET /api/modhub\?q=.*", edited("total", lambda total: total + 1))],
    "no page shows a deleted mod": Sticky().leaks("GET /Modhub"),
    "the feed of the list says that a mod is deleted": [document("GET /Modhub/feed.json", drop("_modhub"))],
    "the change of a deleted mod is its deletion": [
        document("GET .*/changes.*", lambda value: value["changes"][-1].update(what="edited", id=1))
    ],
    "the guid of a deleted mod is unknown": [status("GET /api/modhub/guid/.*", 200)],
    "the downloads of a deleted mod are gone": [status("GET .*/downloads", 200)],
    "no number or guid is given out again": [document("POST /api/modhub", put(id=1))],
}
"""What is broken, by the name of the check that must notice it."""
OWN = {check.name: check for check in CHECKS if check.part == "own"}


def test_every_check_has_a_fault() -> None:
    assert sorted(OWN) == sorted(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_turns_its_check_red(verified: Verified, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(owner, "CLEANING_SECONDS", 0.0)
    assert verified.find_broken(OWN[name], FAULTS[name])
