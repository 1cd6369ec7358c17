"""Every check of the part read is red on a service that breaks what it is about."""

from collections.abc import Callable
from typing import Any

import pytest
from pyramid.response import Response

from modhub_testing.faults import (
    Fault,
    answered,
    with_body,
    with_header,
    with_json,
    with_query,
    with_status,
    with_text,
    without_headers,
)
from modhub_verify.checks import ContractCheck
from modhub_verify.parts import CHECKS
from modhub_verify.results import CheckState
from modhub_verify.run import Run
from modhub_verify.runner import try_check

LIST = "/api/modhub/?"
ONE = "/api/modhub/[0-9]+"
NOTES = f"{ONE}/changelog"
FILE = "/Modhub/file/[0-9]+"
ANY_FILE = f"{FILE}|{ONE}/download"
FRONT = "/Modhub"
PAGE = "/Modhub/[0-9]+"
API = "/api/.*"
EVERY = ".*"
BUILDS = "/api/modhub/app"
WIKI = "/Modhub/api/wiki"
OPENAPI = "/api/openapi.json"
NOBODY = f"{ONE[:-6]}9007199254740993"


def each_mod(change: Callable[[Any], object], path: str = LIST) -> Fault:
    """Changes each mod of a list."""

    def change_all(document: Any) -> None:
        for mod in document.get("mods", []):
            change(mod)

    return with_json(path, change_all)


def each_single(change: Callable[[Any], object]) -> Fault:
    """Changes each single read."""
    return with_json(ONE, lambda document: change(document) if "install" in document else None)


def each_note(change: Callable[[Any], object]) -> Fault:
    return with_json(NOTES, lambda document: [change(note) for note in document["notes"]])


def text(value: str) -> Callable[[bytes], bytes]:
    return lambda body: body + value.encode()


def refused(path: str, status: int, *headers: str) -> Fault:
    """Refuses requests with one of these headers."""

    def refuse(request: Any) -> Response | None:
        return Response(status=status) if any(name in request.headers for name in headers) else None

    return Fault(path, refuse)


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


def with_other_etag(path: str) -> Fault:
    """A new ETag for each answer."""
    numbers = iter(range(10**6))

    def change(_request: Any, response: Any) -> None:
        response.headers["ETag"] = f'"{next(numbers)}"'

    return Fault(path, after=change)


def same_request_id(_request: Any, response: Any) -> None:
    response.headers["X-Request-Id"] = "always-the-same"


def zipped_file(request: Any, response: Any) -> None:
    if "gzip" in request.environ.get("HTTP_ACCEPT_ENCODING", ""):
        response.headers["Content-Encoding"] = "gzip"


def german_etag(request: Any, response: Any) -> None:
    response.headers["ETag"] = 'W/"one-for-all"'


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


def shifted_range(request: Any) -> None:
    if request.environ.get("HTTP_RANGE") == "bytes=-1":
        request.environ["HTTP_RANGE"] = "bytes=0-0"


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


FAULTS: dict[str, list[Fault]] = {
    # Lists
    "a list has its fields and counts": [with_json(LIST, never_cut)],
    "a list has published mods only": [each_mod(lambda mod: mod.update(published=False))],
    "odd parameters of a list become defaults": [with_json(LIST, zero_pages)],
    "an unknown order is the newest first": [with_query(LIST, unknown_sort)],
    "a list names the values that were used": [with_json(LIST, lambda listed: listed.update(size=20))],
    "a page past the end is empty": [with_query(LIST, lambda query: query.update(page="1"))],
    "a search matches a part of a title": [with_query(LIST, whole_titles)],
    "every word of a search must occur": [with_query(LIST, only_last_word)],
    "a search is cut after 200 characters": [with_query(LIST, any_word)],
    "a search finds names of games": [with_query(LIST, titles_only)],
    "a search folds case and accents": [with_query(LIST, case_sensitive)],
    "a search folds letters that are no accents": [with_query(LIST, letters_differ)],
    "percent and underscore are ordinary characters": [with_query(LIST, wildcard)],
    "a game is matched by its whole name": [with_query(LIST, same_game)],
    "the newest are those that changed last": [with_json(LIST, swapped)],
    "the best have most votes": [with_query(LIST, best_is_newest)],
    "pages of a list have each mod once": [with_query(LIST, paged_by_one)],
    "orders and filters of pages are unknown to the api": [with_query(LIST, unknown_sort)],
    # Fields
    "every call gives a mod its whole shape": [each_single(lambda mod: mod["install"][0].pop("conflictsWith"))],
    "ids and guids belong to one mod": [each_mod(lambda mod: mod.update(guid="6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"))],
    "titles are one line of at most 120 characters": [each_mod(lambda mod: mod.update(title="A\u202etitle"))],
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
        with_body("/api/modhub/0[0-9]+", lambda body: b"{}"),
        with_status("/api/modhub/0[0-9]+", 200),
    ],
    "text is normalised and stripped": [each_mod(lambda mod: mod.update(title="e\u0301"))],
    "descriptions have allowed tags only": [each_mod(lambda mod: mod.update(description="<script>x</script>"))],
    "descriptions have allowed attributes only": [each_mod(lambda mod: mod.update(description='<p onclick="x">x</p>'))],
    "links of owners are not followed": [with_text(LIST, "nofollow noopener ugc", "ugc")],
    "a changelog has its entries newest first": [each_note(lambda note: note.pop("automatic"))],
    "entries keep their limits": [each_note(lambda note: note.update(text="<img onerror>" + "x" * 4000))],
    "the changelog of an unknown mod is 404": [answered(f"{NOBODY}/changelog", 200, b'{"count": 0, "notes": []}')],
    # The single read
    "a single read is the mod of the list": [each_single(lambda mod: mod.update(title="another"))],
    "an absent mod is 404": [answered(NOBODY, 200, b"{}")],
    "install has the whole chain": [each_single(first_only)],
    "the mod itself is installed last": [each_single(entry_first)],
    "each entry comes after what it requires": [each_single(shuffled_install)],
    "a mod that several need appears once": [each_single(doubled_install)],
    "install is depth first in list order": [each_single(shuffled_install)],
    "missing names what is not published": [each_single(lambda mod: mod.update(missing=[]))],
    "missing is in the order of the walk": [each_single(reversed_missing)],
    "a download is the code file": [with_header(f"{ONE}/download", "Content-Disposition", "inline")],
    "a link header names the files with their digests": [with_header(ONE, "Link", None)],
    "head of a single read has the headers of get": [Fault(ONE, after=long_head)],
    "curated games have a name to show": [
        with_json("/api/modhub/games", lambda games: games["games"][0].update(displayName=""))
    ],
    "a successor is a published mod or null": [with_status(f"{NOBODY}/superseded", 200)],
    "votes are for everybody to read": [with_json(f"{ONE}/vote", lambda votes: votes.update(value=1))],
    "captions come in the order of images": [with_json(f"{ONE}/captions", lambda captions: captions.update(count=99))],
    # Files
    "a file has its digest as etag": [with_header(FILE, "ETag", '"' + "0" * 64 + '"')],
    "a file has a date and takes ranges": [with_header(FILE, "Accept-Ranges", None)],
    "a single range is 206": [Fault(FILE, no_range)],
    "a range beyond the end is 416": [with_status(FILE, 200)],
    "if range continues the same file only": [without_headers(FILE, "If-Range")],
    "unreadable ranges and conditions are ignored": [refused(FILE, 400, "If-Modified-Since")],
    "a file that is known is 304": [without_headers(FILE, "If-None-Match")],
    "another file than the one meant is 412": [without_headers(FILE, "If-Match")],
    "a file is sandboxed and never sniffed": [
        with_header(f"{ONE}/download", "Content-Security-Policy", "default-src 'none'")
    ],
    "code is an attachment": [with_header(FILE, "Content-Disposition", "inline")],
    "images are inline": [with_header(FILE, "Content-Disposition", 'attachment; filename="x"')],
    "a file has its name": [with_header(FILE, "Content-Disposition", 'attachment; filename="x"')],
    "our own pages cannot run a file": [without_headers(FILE, "Sec-Fetch-Site")],
    "an unknown file is 404": [with_status("/Modhub/file/0", 200)],
    "stored files are never compressed": [Fault(FILE, after=zipped_file)],
    "pages of other sites may use files": [with_header(FILE, "Access-Control-Allow-Origin", None, only=404)],
    # HTTP
    "reading needs no credential and minds none": [Fault(LIST, after=by_credential)],
    "no header has a version of the interface": [with_header(LIST, "Api-Version", "1")],
    "head works wherever get does": [with_status("/robots.txt", 405, method="HEAD")],
    "a trailing slash is the address without it": [with_status("/api/modhub/", 404)],
    "reads and feeds answer other origins": [with_header("/Modhub/feed", "Access-Control-Allow-Origin", None)],
    "a preflight allows what clients send": [
        with_header(API, "Access-Control-Allow-Headers", "Range", method="OPTIONS")
    ],
    "other origins may read these headers": [with_header(API, "Access-Control-Expose-Headers", "ETag")],
    "the api reads no cookies": [Fault(API, after=by_cookie)],
    "the port in host has no effect": [Fault(FRONT, after=by_host)],
    "nonsensical conditions of a read are ignored": [refused("/api/modhub/games", 400, "If-None-Match")],
    "public reads have a strong etag": [without_headers(LIST, "If-None-Match")],
    "every answer has the headers of all": [Fault(EVERY, after=same_request_id)],
    "answers are compressed for those who accept it": [with_header(LIST, "Vary", None)],
    "who refuses gzip gets none": [Fault(LIST, lambda request: request.environ.update(HTTP_ACCEPT_ENCODING="gzip"))],
    "pages have a weak etag for each language": [Fault(FRONT, after=german_etag)],
    # Errors
    "an error is a code and a sentence": [with_json(API, lambda error: error.pop("message", None))],
    "the api answers errors as json": [with_header("/Modhub/api/.*", "Content-Type", "text/html")],
    "pages answer errors in the layout of the site": [
        answered("/unheard-of", 404, b"Not found", content_type="text/html")
    ],
    "a 405 says what is allowed": [with_header(API, "Allow", None)],
    "no call adds an entry to a changelog": [with_status(NOTES, 201, method="POST")],
    "no address gives a 500": [with_status("/Modhub/9{400}", 500)],
    "no header gives a 500": [refused(FRONT, 500, "If-Modified-Since")],
    "errors show nothing of the inside": [
        with_text("/Modhub/unheard-of", "</main>", "Traceback (most recent call last)</main>")
    ],
    "a missing token is 401 with a challenge": [with_header(API, "WWW-Authenticate", None, only=401)],
    "without a token every mod is the same 401": [with_status(NOBODY, 404, method="PUT")],
    "credentials are checked before input": [with_status(LIST, 400, method="POST")],
    "nothing unknown can be deleted without a token": [with_status(NOBODY, 404, method="DELETE")],
    "a key that is missing or unknown is 401": [
        with_json("/api/modhub/key", lambda error: error.update(message="No."))
    ],
    "nothing is published without a key": [with_status("/api/modhub/app/Not.*", 400)],
    "the storage address needs its own key": [with_status("/api/modhub/storage/address", 400)],
    "a body of an account call is limited": [
        with_json("/api/auth/refresh", lambda error: error.update(limitBytes=64_000))
    ],
    "signing out is always 204": [with_status("/api/auth/logout", 401)],
    "the service says that it lives": [with_status("/healthz", 500)],
    "security txt names a contact": [with_text("/.well-known/security.txt", "Expires", "Expiry")],
    "an unknown mod is one 404": [with_text("/Modhub/9007199254740993", "</main>", "hidden</main>")],
    # Pages
    "the front leads to the list": [answered("/", 302, location="/Modhub/all")],
    "addresses in other capitals redirect": [with_status("/modhub", 404)],
    "pages name their site": [with_text("/Modhub/doc", "</title>", "!</title>")],
    "scripts run by a nonce only": [with_text(FRONT, "</main>", "<script>alert(1)</script></main>")],
    "the chosen language wins": [without_headers(FRONT, "Cookie")],
    "nobody gets a cookie unasked": [with_header(FRONT, "Set-Cookie", "id=1")],
    "the form of the theme leads back": [
        answered("/Modhub/preferences", 303, location="https://elsewhere.example/", set_cookie="theme=dark")
    ],
    "the list names its feeds and its call": [with_text(FRONT, "/Modhub/feed.json", "/Modhub/feed")],
    "an empty list says what was looked for": [with_text(FRONT, "zqxjkvbwpqzx", "nothing")],
    "any query shows the list alone": [with_text(FRONT, 'href="/Modhub/[0-9]+"', "")],
    "a mod can be opened in the app": [with_text(PAGE, "://install/[0-9a-f]", "://install/x")],
    "a mods page has its guid and digest": [with_text(PAGE, "[0-9a-f]{64}", "")],
    "a mods page leads to its download": [with_text(PAGE, "/download|/Modhub/file", "/nowhere")],
    "authors have a page": [with_status("/Modhub/by/9007199254740993", 200)],
    "shared links have a title and a picture": [with_text(PAGE, 'property="og:url"', 'property="og:uri"')],
    "pages name all sizes of a picture": [with_text(PAGE, " 320w", " 9999w")],
    "a picture is kept for a day at most": [
        with_header("/Modhub/picture/.*", "Cache-Control", "public, max-age=31536000, immutable")
    ],
    "a page that needs an account leads to the sign in": [
        answered("/Modhub/mine", 302, location="/Modhub/account/login")
    ],
    "pages take no bearer tokens": [with_status("/Modhub/mine", 200)],
    "account pages have the fields of the api": [with_text("/Modhub/account/login", 'name="email"', 'name="mail"')],
    "a link that is not valid is a 410 page": [with_status("/Modhub/account/reset", 404)],
    "visitors are led to sign in to follow": [with_text(PAGE, '/follow"', '/unfollow"')],
    "what is followed is for its account only": [with_status("/Modhub/following/feed", 200)],
    "everything is a zip with a length": [with_header("/Modhub/[0-9]+/everything.zip", "Accept-Ranges", "bytes")],
    "everything has an index and the files as they are": [
        with_text("/Modhub/[0-9]+/everything.zip", "index.json", "index.jsom")
    ],
    "descriptions are searched by whole words": [with_text("/Modhub/descriptions", 'href="/Modhub/[0-9]+"', "")],
    "searches of authors and descriptions have a page": [
        with_text("/Modhub/authors", "</main>", '<a href="/Modhub/by/1">x</a></main>')
    ],
    # Feeds
    "every atom feed has a json twin": [with_json("/Modhub/feed.json", lambda feed: feed["items"].pop())],
    "feeds have what readers need": [with_text("/Modhub/feed", "<updated>[^<]*</updated>", "")],
    "a feed has at most five versions of a mod": [
        with_json("/Modhub/feed.json", lambda feed: feed.update(items=feed["items"][:1] * 6))
    ],
    "feeds tell what was deleted": [with_text("/Modhub/feed", "<at:deleted-entry[^>]*>", "")],
    "an authors feed has their mods only": [
        with_text("/Modhub/by/[0-9]+/feed.json", "/Modhub/[0-9]+", "/Modhub/99999")
    ],
    "robots are told where not to go": [with_text("/robots.txt", "everything.zip", "")],
    "the sitemap has public addresses": [with_text("/sitemap.xml", "/Modhub/[0-9]+<", "/Modhub/mine<")],
    # Features
    "each system has its newest build and all versions": [
        with_json(BUILDS, lambda app: app["builds"][0]["versions"].reverse())
    ],
    "systems come in their order": [with_json(BUILDS, lambda app: app["builds"].reverse())],
    "the newest build and each build can be downloaded": [with_status("/Modhub/app/[a-z]+/[0-9]+", 200)],
    "a build is kept by caches and the newest asked for": [
        with_header("/Modhub/app/[a-z]+", "Cache-Control", "public, max-age=60")
    ],
    "an unknown system has no build": [with_status("/Modhub/app/unheard-of", 200)],
    "the changelog is plain sections": [with_json(BUILDS, lambda app: app.update(changelog=app["changelog"] + "\r\n"))],
    "the page of the app has all builds": [with_text("/Modhub/App", "/Modhub/app/windows", "/nowhere")],
    "the wiki lists its pages": [with_json(WIKI, lambda wiki: wiki["pages"].reverse())],
    "the older address of the wiki answers the same": [with_status("/api/modhub/wiki", 404)],
    "the wiki has pages for people": [with_status("/Modhub/Wiki/unheard-of/page", 200)],
    "headings of the wiki have ids": [with_text("/Modhub/Wiki/.*", '<h2 id="[^"]*"', '<h2 id="An ID"')],
    "the wiki has its contract": [with_header("/api/modhub/doc/wiki", "Content-Type", "text/html")],
    "paths of the wiki lead nowhere else": [with_status(f"{WIKI}/.hidden", 200)],
    "downloads are counted by version": [
        with_json(f"{ONE}/downloads", lambda counts: counts.update(total=counts["total"] + 1))
    ],
    "pages can be ordered by downloads": [with_query(FRONT, lambda query: query.pop("sort", ""))],
    "tags have a name and titles": [with_json("/api/modhub/tags", lambda tags: tags["tags"][0]["titles"].pop("de"))],
    "a tag filters pages": [with_query(FRONT, lambda query: query.pop("tag", ""))],
    "links of a mod are https addresses": [
        with_json(f"{ONE}/links", lambda links: links.update(source="http://a.example"))
    ],
    # Description
    "the api is described in openapi": [with_text(OPENAPI, '"openapi": ?"3.1', '"openapi":"3.0')],
    "every call is described once": [with_text(OPENAPI, '"operationId": ?"read_mod"', '"operationId":"list_mods"')],
    "every schema that is named is there": [
        with_json(OPENAPI, lambda api: api["components"]["schemas"].pop("ModDocument"))
    ],
    "the description refuses nothing that the service takes": [
        with_text(OPENAPI, '"type": ?"string"', '"type":"string","maxLength":9')
    ],
    "every call that needs a token is 401 without one": [with_status("/api/modhub/mine", 403)],
}
"""What is broken, by the name of the check that must notice it."""
READS = {check.name: check for check in CHECKS if check.part == "read"}


def test_every_check_has_a_fault() -> None:
    assert sorted(READS) == sorted(FAULTS)


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_broken_service_is_red(run: Run, verified: Any, name: str) -> None:
    check: ContractCheck = READS[name]
    verified.faulty.faults = FAULTS[name]
    result = try_check(run, check)
    assert result.state is CheckState.BROKEN, result
    # What was broken is told, not a shape that nobody thought of.
    assert "another shape" not in result.detail
