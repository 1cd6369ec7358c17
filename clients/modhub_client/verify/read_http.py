"""What holds for all addresses: methods, validators, compression, headers, other origins; and the API's description."""

from collections.abc import Iterator
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run

_ALLOWED_HEADERS: Final = (
    "Authorization",
    "Content-Type",
    "Range",
    "If-Range",
    "If-Match",
    "If-None-Match",
    "If-Modified-Since",
    "Idempotency-Key",
)
_EXPOSED_HEADERS: Final = (
    "ETag",
    "Last-Modified",
    "Accept-Ranges",
    "Content-Range",
    "Content-Disposition",
    "Repr-Digest",
    "Link",
    "Retry-After",
    "WWW-Authenticate",
    "Allow",
    "X-Request-Id",
)
_GAMES: Final = "/api/modhub/games"
_BOGUS: Final = {
    "Authorization": "Bearer nonsense",
    "X-Api-Key": "nonsense",
    "Cookie": "modhub-language=de; theme=dark; account=1",
}


def _reads(run: Run) -> Iterator[str]:
    """Addresses that everybody may read as JSON."""
    yield from ("/api/modhub", _GAMES)
    if "modhub_moderation" in run.features:
        yield "/api/modhub/advisories"
    if run.listed.document().get("mods"):
        yield from (run.mod_path, f"{run.mod_path}/changelog")


@check("C-PRO-1", "C-HTTP-5", added=True)
def reading_needs_no_credential_and_minds_none(run: Run) -> None:
    """The same answer without one, and with a bad one and cookies; no cookie is set."""
    for path in _reads(run):
        plain = run.service.get(path).expect(200)
        bogus = run.service.call("GET", path, headers=_BOGUS).expect(200)
        require_equal(f"the body of {path} with bad credentials and cookies", plain.body, bogus.body)
        require_equal(f"Set-Cookie of {path}", "", plain.header("Set-Cookie") + bogus.header("Set-Cookie"))
        require("cookie" not in bogus.names("Vary"), f"{bogus.call}: Vary names Cookie.")


@check("C-PRO-4")
def no_header_has_a_version_of_the_interface(run: Run) -> None:
    """Nor does any address of a mod."""
    for path in _reads(run):
        odd = [name for name in run.service.head(path).headers if "version" in name.lower()]
        require(not odd, f"{path}: the headers {odd} name a version.")


@check("C-HTTP-1", added=True)
def head_works_wherever_get_does(run: Run) -> None:
    """The same status and headers, without a body."""
    for path in (*_reads(run), "/robots.txt", "/Modhub/feed"):
        get, head = run.service.get(path).expect(200), run.service.head(path).expect(200)
        for name in ("Content-Type", "ETag", "Link", "Vary", "Cache-Control"):
            require_equal(f"{name} of HEAD {path}", get.header(name), head.header(name))
        require_equal(f"the body of HEAD {path}", b"", head.body)


@check("C-HTTP-1", added=True)
def a_trailing_slash_is_the_address_without_it(run: Run) -> None:
    """The same answer, or a way to it."""
    for path in _reads(run):
        require_equal(
            f"the body of {path}/", run.service.get(path).expect(200).body, run.service.get(f"{path}/").expect(200).body
        )


@check("C-HTTP-2", added=True)
def reads_and_feeds_answer_other_origins(run: Run) -> None:
    """Which may read these headers."""
    for path in (*_reads(run), "/Modhub/feed", "/Modhub/feed.json", f"/api/modhub/{UNKNOWN_ID}"):
        reply = run.service.get(path, origin="https://elsewhere.example")
        reply.expect_header("Access-Control-Allow-Origin", "*")
        reply.expect_named("Access-Control-Expose-Headers", *_EXPOSED_HEADERS)
        require_equal(f"credentials of {path}", "", reply.header("Access-Control-Allow-Credentials"))


@check("C-HTTP-2", added=True)
def a_preflight_allows_what_clients_send(run: Run) -> None:
    """For reads and for calls of owners."""
    for path, method in (
        ("/api/modhub", "POST"),
        (_GAMES, "GET"),
        (f"/api/modhub/{UNKNOWN_ID}", "PUT"),
        ("/Modhub/file/1", "GET"),
    ):
        asked = {"Origin": "https://elsewhere.example", "Access-Control-Request-Method": method}
        reply = run.service.call("OPTIONS", path, headers=asked).expect(200, 204)
        reply.expect_named("Access-Control-Allow-Headers", *_ALLOWED_HEADERS).expect_named(
            "Access-Control-Allow-Methods", method
        )
        reply.expect_header("Access-Control-Allow-Origin", "*")
        require("cookie" not in reply.names("Access-Control-Allow-Headers"), f"{reply.call}: cookies are allowed.")


@check("C-HTTP-6", added=True)
def the_port_in_host_has_no_effect(run: Run) -> None:
    """No address is made from it. Another name may be another site of a proxy, so only the port differs."""
    host = run.service.host
    for path in ("/", "/Modhub", "/api/modhub", "/sitemap.xml"):
        plain, other = run.service.get(path), run.service.get(path, host=f"{host}:9")
        require_equal(f"the status of {path} with another port in Host", plain.status, other.status)
        require(f"{host}:9/".encode() not in other.body, f"{path}: the body has the port of Host.")
        require_equal(f"Location of {path}", plain.header("Location"), other.header("Location"))


@check("C-HTTP-9", added=True)
def public_reads_have_a_strong_etag(run: Run) -> None:
    """Which names the bytes, and is answered with 304."""
    for path in _reads(run):
        reply = run.service.get(path).expect(200)
        etag = reply.header("ETag")
        require(
            etag.startswith('"') and etag.endswith('"') and len(etag) > 2,
            f"{path}: expected a strong ETag, came {etag!r}.",
        )
        require_equal(f"ETag of {path} again", etag, run.service.get(path).header("ETag"))
        for condition in (etag, f'"other", {etag}', f"W/{etag}", "*"):
            same = run.service.get(path, if_none_match=condition).expect(304)
            require_equal(f"ETag of the 304 of {path}", etag, same.header("ETag"))
            require_equal(f"the body of the 304 of {path}", b"", same.body)
        run.service.get(path, if_none_match='"other"').expect(200)


@check("C-HTTP-10", added=True)
def every_answer_has_the_headers_of_all(run: Run) -> None:
    """A request id of its own, ``nosniff``, a referrer policy, a cross-origin resource policy; errors too."""
    seen = set()
    for path in (*_reads(run), f"/api/modhub/{UNKNOWN_ID}", "/Modhub/unheard-of", "/robots.txt", "/"):
        reply = run.service.get(path).expect_header("X-Content-Type-Options", "nosniff")
        for name in ("X-Request-Id", "Referrer-Policy", "Cross-Origin-Resource-Policy"):
            require(reply.header(name), f"{reply.call}: {name} is missing.")
        require(reply.header("X-Request-Id") not in seen, f"{reply.call}: its X-Request-Id is that of another request.")
        seen.add(reply.header("X-Request-Id"))


@check("C-HTTP-12", added=True)
def answers_are_compressed_for_those_who_accept_it(run: Run) -> None:
    """With ``Vary``, and an ``ETag`` for each form, which both get 304; ``gzip;q=0`` and other codings get none."""
    for accepted in ("gzip;q=0", "br", "identity"):
        reply = run.service.get("/api/modhub", accept_encoding=accepted).expect(200)
        require_equal(f"Content-Encoding with Accept-Encoding: {accepted}", "", reply.header("Content-Encoding"))
    for path in ("/api/modhub", "/api/openapi.json", "/Modhub/feed"):
        plain, packed = run.service.get(path), run.service.get(path, accept_encoding="gzip")
        if plain.status == 404:
            continue
        for reply in (plain, packed):
            reply.expect(200).expect_named("Vary", "Accept-Encoding")
        require_equal(f"Content-Encoding of {path} for nobody", "", plain.header("Content-Encoding"))
        _check_form(run, path, plain, packed)


def _check_form(run: Run, path: str, plain: Reply, packed: Reply) -> None:
    if len(plain.body) < 1000:
        return  # hardly shrinks
    packed.expect_header("Content-Encoding", "gzip")
    if plain.media_type == "application/json":
        require_equal(f"the content of {path} in gzip", plain.body, packed.unzipped())
        require(
            plain.header("ETag") != packed.header("ETag"), f"{path}: both forms have the ETag {plain.header('ETag')}."
        )
        run.service.get(path, accept_encoding="gzip", if_none_match=packed.header("ETag")).expect(304)
    else:
        require(len(packed.unzipped()) > len(packed.body), f"{path}: gzip does not shrink it.")


_METHODS: Final = frozenset({"get", "put", "post", "delete"})
_DESCRIPTION: Final = "/api/openapi.json"
_DESCRIBED_PATHS: Final = {
    "core": ("/api/modhub", "/api/modhub/{id}", "/api/modhub/{id}/changelog", "/api/modhub/games", "/api/modhub/key"),
    "modhub_auth": ("/api/auth/login", "/api/auth/me", "/api/auth/refresh"),
    "modhub_builds": ("/api/modhub/app",),
    "modhub_sync": ("/api/modhub/changes", "/api/modhub/lookup", "/api/modhub/plan"),
    "modhub_wiki": ("/Modhub/api/wiki",),
}


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method in _METHODS & item.keys():
            yield f"{method.upper()} {path}", item[method]


@check("C-API-1", added=True)
def the_api_is_described_in_openapi(run: Run) -> None:
    """3.1, at most 300 KB, with an ``ETag``, and the address of the service."""
    reply = run.service.get(_DESCRIPTION).expect(200)
    document = reply.document()
    require(document["openapi"].startswith("3.1"), f"openapi is {document['openapi']!r}.")
    require(len(reply.body) <= 300 * 1024, f"{reply.call}: {len(reply.body)} bytes.")
    require(document["servers"][0]["url"].startswith(("https://", "http://")), f"servers is {document['servers']}.")
    run.service.get(_DESCRIPTION, if_none_match=reply.header("ETag")).expect(304)
    reply.expect_header("Access-Control-Allow-Origin", "*")


@check("C-API-2", added=True)
def every_call_is_described_once(run: Run) -> None:
    """With a name that makes a method, a sentence, its responses, and below the two addresses of programs."""
    document = run.description
    names = [operation["operationId"] for _, operation in _operations(document)]
    require_equal("the names of calls, each once", len(names), len(set(names)))
    require(all(name.isidentifier() for name in names), "a name of a call makes no method.")
    for call, operation in _operations(document):
        require(operation.get("summary") and operation.get("description"), f"{call}: no sentence.")
        require(any(status.startswith("2") for status in operation["responses"]), f"{call}: no success.")
        require("security" in operation, f"{call}: no credential.")
    for feature, paths in _DESCRIBED_PATHS.items():
        missing = [path for path in paths if path not in document["paths"]]
        require(feature not in run.features or not missing, f"{_DESCRIPTION}: {missing} are not described.")


@check("C-API-2", added=True)
def every_schema_that_is_named_is_there(run: Run) -> None:
    """Every reference leads somewhere."""
    document = run.description
    for node in _nodes(document):
        reference = node.get("$ref")
        if isinstance(reference, str):
            target: Any = document
            for part in reference.removeprefix("#/").split("/"):
                require(isinstance(target, dict) and part in target, f"{reference} leads nowhere.")
                target = target[part]


@check("C-API-3", added=True)
def the_description_refuses_nothing_that_the_service_takes(run: Run) -> None:
    """No limit where text is cut, and no closed fields."""
    for node in _nodes(run.description):
        odd = [name for name in ("maxLength", "maxItems") if isinstance(node.get(name), int)]
        require(not odd and node.get("additionalProperties") is not False, f"a schema is too strict: {node!s:.200}")


@check("C-API-2", "C-OWN-12", feature="modhub_auth", added=True)
def every_call_that_needs_a_token_is_401_without_one(run: Run) -> None:
    """As it is described. Only reads are tried."""
    for call, operation in _operations(run.description):
        method, path = call.split()
        if method == "GET" and operation["security"] and {} not in operation["security"]:
            run.service.get(path.replace("{id}", "9007199254740993").replace("{noteId}", "1")).expect(401)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
