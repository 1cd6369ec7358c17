"""Errors: their shape; what is refused without a credential; and what the service says of itself."""

import re
from itertools import product
from typing import Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import JSON_TYPE, Absent, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run

_CODE: Final = re.compile("[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_TRACES: Final = re.compile(r"Traceback|File \"|site-packages|sqlite3|psycopg|SELECT |/usr/lib|\.py\b", re.IGNORECASE)
_ODD_ADDRESSES: Final = (
    f"/api/modhub/{'9' * 400}",
    "/api/modhub/18446744073709551616",
    "/api/modhub/1%00",
    "/api/modhub/%ff%fe",
    "/api/modhub/%ed%a0%80",
    "/api/modhub?q=%ed%a0%80&game=%00&page=1e999",
    f"/api/modhub?page={'9' * 400}&size=-{'9' * 400}",
    "/api/modhub?q=%22%27%3b--&game=%5c",
    f"/Modhub/{'9' * 400}",
    "/Modhub/%ff",
    "/Modhub?q=%00%ff&page=x&game=%ed%a0%80",
    "/Modhub/file/99999999999999999999999",
    "/Modhub/file/%00",
    "/..%2f..%2fetc/passwd",
)
_ODD_HEADERS: Final = (
    {"Range": "bytes=" + "9" * 400 + "-"},
    {"If-None-Match": '"' * 301},
    {"If-Modified-Since": "Thu, 99 Foo 0000 99:99:99 GMT"},
    {"Accept-Language": "x" * 300 + ";q=nan"},
    {"Accept-Encoding": "gzip;q=1e999, ;;;"},
    {"Cookie": "=;=;\xff=\xff;" + "a" * 900},
    {"Authorization": "Bearer \xff\xfe"},
    {"Origin": "null\xff"},
)


@check("C-ERR-1", "C-ERR-3", added=True)
def an_error_is_a_code_and_a_sentence(run: Run) -> None:
    """``{"error", "message"}`` in JSON, the code in snake case: 404 and 405, below ``/api/`` and ``/Modhub/api/``."""
    for method, path in (
        ("GET", f"/api/modhub/{UNKNOWN_ID}"),
        ("GET", f"/api/modhub/{UNKNOWN_ID}/unheard-of"),
        ("GET", "/api/unheard-of"),
        ("GET", "/api/"),
        ("GET", "/Modhub/api/unheard-of"),
        ("DELETE", "/api/modhub/games"),
        ("POST", "/api/modhub/games"),
    ):
        reply = run.service.call(method, path).expect(404 if method == "GET" else 405)
        body = reply.expect_header("Content-Type", "application/json").document()
        require(_CODE.fullmatch(str(body.get("error"))), f"{reply.call}: error is {body.get('error')!r}.")
        message = body.get("message")
        require(isinstance(message, str) and message.endswith("."), f"{reply.call}: message is {message!r}.")


@check("C-ERR-5", added=True)
def a_405_says_what_is_allowed(run: Run) -> None:
    """To everybody, also where a token would be needed for other methods."""
    for method, path, allowed in (
        ("PUT", "/api/modhub/games", "GET"),
        ("PATCH", f"/api/modhub/{UNKNOWN_ID}", "PUT"),
        ("DELETE", "/api/modhub", "POST"),
        ("DELETE", "/Modhub", "GET"),
    ):
        run.service.call(method, path).expect(405).expect_named("Allow", allowed)


@check("C-ERR-8", added=True)
def no_address_and_no_header_gives_a_500(run: Run) -> None:
    """Huge numbers, NUL, invalid UTF-8, quotes, dots. What cannot be read is ignored, or the request is refused."""
    plain: dict[str, str] = {}
    tries = [(path, plain) for path in _ODD_ADDRESSES]
    for path, headers in (*tries, *product(("/api/modhub", "/Modhub"), _ODD_HEADERS)):
        reply = run.service.call("GET", path, headers=headers)
        require(reply.status < 500, f"{reply.call:.120} with {headers!r:.80}: came {reply.status}.")


@check("C-ERR-9", added=True)
def errors_show_nothing_of_the_inside(run: Run) -> None:
    """No file, no statement, no traceback."""
    for path in ("/api/unheard-of", "/Modhub/unheard-of", "/api/modhub/1%00", "/api/modhub/%ff", "/Modhub/file/%00"):
        reply = run.service.get(path)
        trace = _TRACES.search(reply.body.decode("utf-8", "replace"))
        require(trace is None or reply.status < 400, f"{reply.call}: the error shows {trace and trace[0]!r}.")


@check("C-RUN-8", added=True)
def the_service_says_that_it_lives(run: Run) -> None:
    """And what of it is not ready, as far as strangers may ask."""
    health = run.service.get("/healthz")
    ready = run.service.call("GET", "/readyz", patient=False)
    if health.status in {403, 404} or ready.status in {403, 404}:
        raise Absent("the deployment does not show /healthz and /readyz to strangers")
    health.expect(200)
    ready.expect_document()


@check("C-RUN-51", added=True)
def security_txt_names_a_contact(run: Run) -> None:
    """With an expiry, or there is none."""
    reply = run.service.get("/.well-known/security.txt").expect(200, 404)
    if reply.status == 404:
        raise Absent("the deployment has no security.txt")
    require("/Modhub/contact" in reply.text, f"{reply.call}: expected Contact with /Modhub/contact.")
    require(re.search(r"(?m)^Expires: [0-9]{4}-", reply.text), f"{reply.call}: expected Expires.")


@check("C-ERR-6", "C-TOK-2", "C-OWN-13", feature="modhub_auth", added=True)
def credentials_are_checked_before_input(run: Run) -> None:
    """401 with ``WWW-Authenticate: Bearer``, with ``invalid_token`` if one was sent; their bodies would be 400."""
    for method, path, body in (
        ("GET", "/api/modhub/mine", None),
        ("GET", "/api/auth/me", None),
        ("POST", "/api/modhub", b"[not json"),
        ("PUT", f"/api/modhub/{UNKNOWN_ID}", b"[not json"),
        ("PUT", f"/api/modhub/{UNKNOWN_ID}/changelog/1", b"[not json"),
        ("POST", f"/api/modhub/{UNKNOWN_ID}/code", b""),
    ):
        missing = run.service.call(method, path, body=body, headers=JSON_TYPE).expect(401)
        challenge = missing.header("WWW-Authenticate")
        require(challenge.startswith("Bearer"), f"{missing.call}: no challenge.")
        require("invalid_token" not in challenge, f"{missing.call}: no token was sent.")
        bad = run.service.call(method, path, body=body, headers={**JSON_TYPE, "Authorization": "Bearer nonsense"})
        challenge = bad.expect(401).header("WWW-Authenticate")
        require('error="invalid_token"' in challenge, f"{bad.call}: expected invalid_token for a bad token.")
        require_equal(f"the body of {bad.call} with a bad token", missing.body, bad.body)


@check("C-KEY-2")
def a_key_that_is_missing_or_unknown_is_401(run: Run) -> None:
    """The two bodies are exact."""
    missing = run.service.get("/api/modhub/key").expect(401)
    require_equal("the body without a key", {"error": "no_api_key"}, missing.json())
    for key in ("nonsense", "0" * 64, "\xff"):
        unknown = run.service.call("GET", "/api/modhub/key", headers={"X-Api-Key": key}).expect(401)
        require_equal("the body with an unknown key", {"error": "unknown_api_key"}, unknown.json())


@check("C-ERR-12", "C-TXT-7", feature="modhub_auth", added=True)
def a_body_of_an_account_call_is_limited(run: Run) -> None:
    """64 KB, which ``limitBytes`` names."""
    reply = run.service.call("POST", "/api/auth/refresh", {"refreshToken": "x" * 64 * 1024})
    require_equal("limitBytes", 64 * 1024, reply.expect_error(413).get("limitBytes"))
