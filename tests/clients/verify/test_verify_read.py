"""Every check of the part read is red on a service that breaks what it is about."""

from collections.abc import Callable
from typing import Any

import pytest
from pyramid.response import Response

from modhub_client.verify.parts import CHECKS
from modhub_testing.broken_service import Fault, answers, asks, at, body, document, header, ignores, replaces, status

from .conftest import Verified

pytestmark = pytest.mark.long

LIST = "/api/modhub/?"
ONE = "/api/modhub/[0-9]+"
NOTES = f"{ONE}/changelog"
FILE = "/Modhub/file/[0-9]+"
FRONT = "/Modhub"
API = "/api/.*"
EVERY = ".*"
BUILDS = "/api/modhub/app"
WIKI = "/Modhub/api/wiki"
OPENAPI = "/api/openapi.json"
NOBODY = f"{ONE[:-6]}9007199254740993"
ADVISORIES = "/api/modhub/advisories"


def each_mod(change: Callable[[Any], object], path: str = LIST) -> Fault:
    """Changes each mod of a list."""

    def change_all(document: Any) -> None:
        for mod in document.get("mods", []):
            change(mod)

    return document(at(path), change_all)


def each_single(change: Callable[[Any], object]) -> Fault:
    """Changes each single read."""
    return document(at(ONE), lambda document: change(document) if "install" in document else None)


def each_note(change: Callable[[Any], object]) -> Fault:
    return document(at(NOTES), lambda document: [change(note) for note in document["notes"]])


def refused(path: str, status: int, *headers: str) -> Fault:
    """Refuses requests with one of these headers."""

    def refuse(request: Any) -> Response | None:
        return Response(status=status) if any(name in request.headers for name in headers) else None

    return Fault(at(path), refuse)


def swapped(document: Any) -> None:
    document["mods"] = document["mods"][::-1]


def shuffled_install(document: Any) -> None:
    document["install"] = document["install"][:-1][::-1] + document["install"][-1:]


def doubled_install(document: Any) -> None:
    document["install"].insert(0, document["install"][0])


def reversed_missing(document: Any) -> None:
    document["missing"].reverse()


def first_only(document: Any) -> None:
    document["install"] = document["install"][-1:]
    document["missing"] = []


def entry_first(document: Any) -> None:
    document["install"].insert(0, document["install"].pop())


def same_request_id(_request: Any, response: Any) -> None:
    response.headers["X-Request-Id"] = "always-the-same"


def zipped_file(request: Any, response: Any) -> None:
    if "gzip" in request.environ.get("HTTP_ACCEPT_ENCODING", ""):
        response.headers["Content-Encoding"] = "gzip"


def by_cookie(request: Any, response: Any) -> None:
    if request.cookies and response.body:
        response.body = response.body + b" "


def by_credential(request: Any, response: Any) -> None:
    if "HTTP_AUTHORIZATION" in request.environ and response.body:
        response.body = response.body + b" "


def by_host(request: Any, response: Any) -> None:
    if response.body:
        response.body = response.body + f" http://{request.environ['HTTP_HOST']}/".encode()


def long_head(request: Any, response: Any) -> None:
    if request.method == "HEAD":
        response.headers["ETag"] = '"of-head"'


def no_range(request: Any) -> None:
    request.environ.pop("HTTP_RANGE", None)


def same_game(parameters: dict[str, str]) -> None:
    if "game" in parameters:
        parameters["q"] = parameters.pop("game").strip()


def only_last_word(parameters: dict[str, str]) -> None:
    parameters["q"] = (parameters.get("q", "").split() or [""])[0]


def never_cut(document: Any) -> None:
    document["total"] += 1


def any_word(parameters: dict[str, str]) -> None:
    if len(parameters.get("q", "")) > 190:
        parameters["q"] = parameters["q"].split()[-1]


def whole_titles(parameters: dict[str, str]) -> None:
    if parameters.get("q", "").islower() or len(parameters.get("q", "")) < 200:
        parameters["q"] = parameters.get("q", "") and "zqxjkvbwpqzx"


def case_sensitive(parameters: dict[str, str]) -> None:
    if parameters.get("q", "").isupper():
        parameters["q"] = "zqxjkvbwpqzx"


def titles_only(parameters: dict[str, str]) -> None:
    if parameters.get("q") == "Paper Comet":
        parameters["q"] = "zqxjkvbwpqzx"


def letters_differ(parameters: dict[str, str]) -> None:
    if parameters.get("q") == "ß":
        parameters["q"] = "zqxjkvbwpqzx"


def wildcard(parameters: dict[str, str]) -> None:
    if parameters.get("q") in {"%", "_"}:
        del parameters["q"]


def best_is_newest(parameters: dict[str, str]) -> None:
    parameters["sort"] = "new"


def paged_by_one(parameters: dict[str, str]) -> None:
    if parameters.get("page") == "2":
        parameters["page"] = "1"


def unknown_sort(parameters: dict[str, str]) -> None:
    if parameters.get("sort") not in {None, "new", "top"}:
        parameters["sort"] = "top"


def zero_pages(document: Any) -> None:
    document["page"] = 0


def each_advisory(change: Callable[[Any], object]) -> Fault:
    return document(at(ADVISORIES), lambda export: [change(advisory) for advisory in export["advisories"]])


FAULTS: dict[str, list[Fault]] = {
    # Lists
    "a list has its fields and counts": [document(at(LIST), never_cut)],
    "a list has published mods only": [each_mod(lambda mod: mod.update(published=False))],
    "odd parameters of a list become defaults": [document(at(LIST), zero_pages)],
    "an unknown order is the newest first": [asks(at(LIST), unknown_sort)],
    "a list names the values that were used": [document(at(LIST), lambda listed: listed.update(size=20))],
    "a page past the end is empty": [asks(at(LIST), lambda query: query.update(page="1"))],
    "a search matches a part of a title": [asks(at(LIST), whole_titles)],
    "every word of a search must occur": [asks(at(LIST), only_last_word)],
    "a search is cut after 200 characters": [asks(at(LIST), any_word)],
    "a search finds names of games": [asks(at(LIST), titles_only)],
    "a search folds case and accents": [asks(at(LIST), case_sensitive)],
    "a search folds letters that are no accents": [asks(at(LIST), letters_differ)],
    "percent and underscore are ordinary characters": [asks(at(LIST), wildcard)],
    "a game is matched by its whole name": [asks(at(LIST), same_game)],
    "the newest are those that changed last": [document(at(LIST), swapped)],
    "the best have most votes": [asks(at(LIST), best_is_newest)],
    "pages of a list have each mod once": [asks(at(LIST), paged_by_one)],
    "orders and filters of pages are unknown to the api": [asks(at(LIST), unknown_sort)],
    # Fields
    "every call gives a mod its whole shape": [each_single(lambda mod: mod["install"][0].pop("conflictsWith"))],
    "ids and guids belong to one mod": [each_mod(lambda mod: mod.update(guid="6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"))],
    "titles have at most 120 characters": [each_mod(lambda mod: mod.update(title="x" * 121))],
    "titles are one line": [each_mod(lambda mod: mod.update(title="A\u202etitle"))],
    "descriptions have at most 8000 characters": [each_mod(lambda mod: mod.update(description="x" * 8001))],
    "games are at most twenty names": [each_mod(lambda mod: mod.update(games=[f"game {at}" for at in range(21)]))],
    "a mod names each game once": [each_mod(lambda mod: mod.update(games=["Portal", "portal "]))],
    "required and conflicting mods are guids": [each_mod(lambda mod: mod.update(requires=[mod["guid"]]))],
    "the address of a mod is its page": [
        each_mod(lambda mod: mod.update(url=f"https://mods.example/Modhub/{mod['id']}"))
    ],
    "files come as code css images": [each_mod(lambda mod: mod["assets"].reverse())],
    "every published mod has a code file": [each_mod(lambda mod: mod["assets"].pop(0))],
    "files keep their limits": [each_mod(lambda mod: mod["assets"][0].update(bytes=1 << 27))],
    "names and versions keep their limits": [each_mod(lambda mod: mod["assets"][0].update(name="../mod.zip"))],
    "times have microseconds and are utc": [each_mod(lambda mod: mod.update(createdAt=mod["createdAt"][:19] + "Z"))],
    "what is no plain number is an unknown id": [
        body(at("/api/modhub/0[0-9]+"), lambda body: b"{}"),
        status(at("/api/modhub/0[0-9]+"), 200),
    ],
    "text is normalised and stripped": [each_mod(lambda mod: mod.update(title="e\u0301"))],
    "descriptions have allowed tags only": [each_mod(lambda mod: mod.update(description="<script>x</script>"))],
    "descriptions have allowed attributes only": [each_mod(lambda mod: mod.update(description='<p onclick="x">x</p>'))],
    "links of owners are not followed": [replaces(at(LIST), "nofollow noopener ugc", "ugc")],
    "a changelog has its entries newest first": [each_note(lambda note: note.pop("automatic"))],
    "entries keep their limits": [each_note(lambda note: note.update(text="<img onerror>" + "x" * 4000))],
    "the changelog of an unknown mod is 404": [answers(at(f"{NOBODY}/changelog"), 200, b'{"count": 0, "notes": []}')],
    # The single read
    "a single read is the mod of the list": [each_single(lambda mod: mod.update(title="another"))],
    "an absent mod is 404": [answers(at(NOBODY), 200, b"{}")],
    "install has the whole chain": [each_single(first_only)],
    "the mod itself is installed last": [each_single(entry_first)],
    "each entry comes after what it requires": [each_single(shuffled_install)],
    "a mod that several need appears once": [each_single(doubled_install)],
    "install is depth first in list order": [each_single(shuffled_install)],
    "missing names what is not published": [each_single(lambda mod: mod.update(missing=[]))],
    "missing is in the order of the walk": [each_single(reversed_missing)],
    "a download is the code file": [header(at(f"{ONE}/download"), "Content-Disposition", "inline")],
    "a link header names the files with their digests": [header(at(ONE), "Link", None)],
    "head of a single read has the headers of get": [Fault(at(ONE), after=long_head)],
    "curated games have a name to show": [
        document(at("/api/modhub/games"), lambda games: games["games"][0].update(displayName=""))
    ],
    "a successor is a published mod or null": [status(at(f"{NOBODY}/superseded"), 200)],
    "votes are for everybody to read": [document(at(f"{ONE}/vote"), lambda votes: votes.update(value=1))],
    "captions come in the order of images": [document(at(f"{ONE}/captions"), lambda shown: shown.update(count=99))],
    # Files
    "a file has its digest as etag": [header(at(FILE), "ETag", '"' + "0" * 64 + '"')],
    "a file has a date and takes ranges": [header(at(FILE), "Accept-Ranges", None)],
    "a single range is 206": [Fault(at(FILE), no_range)],
    "a range beyond the end is 416": [status(at(FILE), 200)],
    "if range continues the same file only": [ignores(at(FILE), "If-Range")],
    "unreadable ranges and conditions are ignored": [refused(FILE, 400, "If-Modified-Since")],
    "a file that is known is 304": [ignores(at(FILE), "If-None-Match")],
    "another file than the one meant is 412": [ignores(at(FILE), "If-Match")],
    "a file is sandboxed and never sniffed": [
        header(at(f"{ONE}/download"), "Content-Security-Policy", "default-src 'none'")
    ],
    "code is an attachment": [header(at(FILE), "Content-Disposition", "inline")],
    "images are inline": [header(at(FILE), "Content-Disposition", 'attachment; filename="x"')],
    "a file has its name": [header(at(FILE), "Content-Disposition", 'attachment; filename="x"')],
    "our own pages cannot run a file": [ignores(at(FILE), "Sec-Fetch-Site")],
    "an unknown file is 404": [status(at("/Modhub/file/0"), 200)],
    "stored files are never compressed": [Fault(at(FILE), after=zipped_file)],
    "pages of other sites may use files": [header(at(FILE), "Access-Control-Allow-Origin", None, only=404)],
    # HTTP
    "reading needs no credential and minds none": [Fault(at(LIST), after=by_credential)],
    "no header has a version of the interface": [header(at(LIST), "Api-Version", "1")],
    "head works wherever get does": [status(at("/robots.txt", "HEAD"), 405)],
    "a trailing slash is the address without it": [status(at("/api/modhub/"), 404)],
    "reads and feeds answer other origins": [header(at("/Modhub/feed"), "Access-Control-Allow-Origin", None)],
    "a preflight allows what clients send": [header(at(API, "OPTIONS"), "Access-Control-Allow-Headers", "Range")],
    "other origins may read these headers": [header(at(API), "Access-Control-Expose-Headers", "ETag")],
    "the api reads no cookies": [Fault(at(API), after=by_cookie)],
    "the port in host has no effect": [Fault(at(FRONT), after=by_host)],
    "nonsensical conditions of a read are ignored": [refused("/api/modhub/games", 400, "If-None-Match")],
    "public reads have a strong etag": [ignores(at(LIST), "If-None-Match")],
    "every answer has the headers of all": [Fault(at(EVERY), after=same_request_id)],
    "answers are compressed for those who accept it": [header(at(LIST), "Vary", None)],
    "who refuses gzip gets none": [
        Fault(at(LIST), lambda request: request.environ.update(HTTP_ACCEPT_ENCODING="gzip"))
    ],
    # Errors
    "an error is a code and a sentence": [document(at(API), lambda error: error.pop("message", None))],
    "the api answers errors as json": [header(at("/Modhub/api/.*"), "Content-Type", "text/html")],
    "a 405 says what is allowed": [header(at(API), "Allow", None)],
    "no call adds an entry to a changelog": [status(at(NOTES, "POST"), 201)],
    "no address gives a 500": [status(at("/Modhub/9{400}"), 500)],
    "no header gives a 500": [refused(FRONT, 500, "If-Modified-Since")],
    "errors show nothing of the inside": [
        replaces(at("/Modhub/unheard-of"), "</main>", "Traceback (most recent call last)</main>")
    ],
    "a missing token is 401 with a challenge": [header(at(API), "WWW-Authenticate", None, only=401)],
    "without a token every mod is the same 401": [status(at(NOBODY, "PUT"), 404)],
    "credentials are checked before input": [status(at(LIST, "POST"), 400)],
    "nothing unknown can be deleted without a token": [status(at(NOBODY, "DELETE"), 404)],
    "a key that is missing or unknown is 401": [
        document(at("/api/modhub/key"), lambda error: error.update(message="No."))
    ],
    "nothing is published without a key": [status(at("/api/modhub/app/Not.*"), 400)],
    "the storage address needs its own key": [status(at("/api/modhub/storage/address"), 400)],
    "a body of an account call is limited": [
        document(at("/api/auth/refresh"), lambda error: error.update(limitBytes=64_000))
    ],
    "signing out is always 204": [status(at("/api/auth/logout"), 401)],
    "the service says that it lives": [status(at("/healthz"), 500)],
    "security txt names a contact": [replaces(at("/.well-known/security.txt"), "Expires", "Expiry")],
    "an unknown mod is one 404": [document(at(NOBODY), lambda error: error.update(message="Hidden."))],
    # Archives
    "an image has small pictures": [status(at("/Modhub/picture/[0-9]+/[0-9]+"), 200, only=404)],
    "what stands beside mods comes at once": [
        document(at("/api/modhub/details"), lambda answer: answer.get("details", []).reverse())
    ],
    "everything is a zip with a length": [header(at("/Modhub/[0-9]+/everything.zip"), "Accept-Ranges", "bytes")],
    "everything has an index and the files as they are": [
        replaces(at("/Modhub/[0-9]+/everything.zip"), "index.json", "index.jsom")
    ],
    # Feeds
    "every atom feed has a json twin": [document(at("/Modhub/feed.json"), lambda feed: feed["items"].pop())],
    "feeds have what readers need": [replaces(at("/Modhub/feed"), "<updated>[^<]*</updated>", "")],
    "a feed has at most five versions of a mod": [
        document(at("/Modhub/feed.json"), lambda feed: feed.update(items=feed["items"][:1] * 6))
    ],
    "feeds tell what was deleted": [replaces(at("/Modhub/feed"), "<at:deleted-entry[^>]*>", "")],
    "nobody has no feed": [status(at("/Modhub/by/9007199254740993/feed.json"), 200)],
    "a private feed needs its token": [header(at("/Modhub/following/.*"), "Cache-Control", "public")],
    # Features
    "each system has its newest build and all versions": [
        document(at(BUILDS), lambda app: app["builds"][0]["versions"].reverse())
    ],
    "systems come in their order": [document(at(BUILDS), lambda app: app["builds"].reverse())],
    "the newest build and each build can be downloaded": [status(at("/Modhub/app/[a-z]+/[0-9]+"), 200)],
    "a build is kept by caches and the newest asked for": [
        header(at("/Modhub/app/[a-z]+"), "Cache-Control", "public, max-age=60")
    ],
    "an unknown system has no build": [status(at("/Modhub/app/unheard-of"), 200)],
    "the changelog is plain sections": [document(at(BUILDS), lambda app: app.update(changelog="1.0\r\n"))],
    "the wiki lists its pages": [document(at(WIKI), lambda wiki: wiki["pages"].reverse())],
    "the older address of the wiki answers the same": [status(at("/api/modhub/wiki"), 404)],
    "the wiki has its contract": [header(at("/api/modhub/doc/wiki"), "Content-Type", "text/html")],
    "paths of the wiki lead nowhere else": [status(at(f"{WIKI}/.hidden"), 200)],
    "downloads are counted by version": [
        document(at(f"{ONE}/downloads"), lambda counts: counts.update(total=counts["total"] + 1))
    ],
    "tags have a name and titles": [document(at("/api/modhub/tags"), lambda tags: tags["tags"][0]["titles"].pop("de"))],
    "links of a mod are https addresses": [
        document(at(f"{ONE}/links"), lambda links: links.update(source="http://a.example"))
    ],
    # Advisories and reports
    "an advisory says what is known of one file": [each_advisory(lambda known: known.update(advice="x" * 501))],
    "advisories are found by the first five digits": [
        document(at(f"{ADVISORIES}/.+"), lambda answer: answer["advisories"].pop())
    ],
    "digits of a prefix may be capitals": [answers(at(f"{ADVISORIES}/[0-9A-F]{{5}}"), 200, b'{"advisories": []}')],
    "a prefix has exactly five digits": [answers(at(f"{ADVISORIES}/.{{4}}"), 200, b'{"advisories": []}')],
    "advisories are for every origin and need no credential": [
        header(at(f"{ADVISORIES}/.*"), "Access-Control-Allow-Origin", None)
    ],
    "the export of advisories says when it changed": [
        document(at(ADVISORIES), lambda export: export.update(changedAt=export["advisories"][0]["since"]))
    ],
    "the newest advisories have feeds": [
        document(at("/Modhub/advisories/feed.json"), lambda feed: feed["items"].pop())
    ],
    "what is absent cannot be reported": [status(at(f"{NOBODY}/reports"), 400)],
    "a report that says nothing is 400": [answers(at(f"{ONE}/reports"), 201, b'{"receipt": "0"}')],
    "a bad token of a report is 401": [ignores(at(f"{ONE}/reports"), "Authorization")],
    # Description
    "the api is described in openapi": [replaces(at(OPENAPI), '"openapi": ?"3.1', '"openapi":"3.0')],
    "every call is described once": [replaces(at(OPENAPI), '"operationId": ?"read_mod"', '"operationId":"list_mods"')],
    "every schema that is named is there": [
        document(at(OPENAPI), lambda api: api["components"]["schemas"].pop("ModDocument"))
    ],
    "the description refuses nothing that the service takes": [
        replaces(at(OPENAPI), '"type": ?"string"', '"type":"string","maxLength":9')
    ],
    "every call that needs a token is 401 without one": [status(at("/api/modhub/mine"), 403)],
}
"""What is broken, by the name of the check that must notice it."""
READS = {check.name: check for check in CHECKS if check.part == "read"}


def test_every_check_has_a_fault() -> None:
    assert sorted(READS) == sorted(FAULTS)


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_turns_its_check_red(verified: Verified, name: str) -> None:
    told = verified.find_broken(READS[name], FAULTS[name])
    # What was broken is told, not a shape that nobody thought of.
    assert told
    assert "another shape" not in told
