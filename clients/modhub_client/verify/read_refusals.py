"""Calls that need a credential, and get none or a bad one."""

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run


def _unlike(reply: Reply) -> list[tuple[str, str]]:
    """The headers of a response but those that differ from moment to moment."""
    return sorted(
        (name.lower(), value) for name, value in reply.headers.items() if name.lower() not in {"date", "x-request-id"}
    )


@check("C-ERR-6", "C-TOK-2", part="read", feature="modhub_auth", added=True)
def a_missing_token_is_401_with_a_challenge(run: Run) -> None:
    """``WWW-Authenticate: Bearer``, and ``error="invalid_token"`` for one that was sent."""
    for method, path in (("GET", "/api/modhub/mine"), ("GET", "/api/auth/me"), ("PUT", f"/api/modhub/{UNKNOWN_ID}")):
        missing = run.service.call(method, path).expect(401)
        require(missing.header("WWW-Authenticate").startswith("Bearer"), f"{missing.call}: no challenge.")
        require("invalid_token" not in missing.header("WWW-Authenticate"), f"{missing.call}: no token was sent.")
        bad = run.service.call(method, path, headers={"Authorization": "Bearer nonsense"}).expect(401)
        require(
            'error="invalid_token"' in bad.header("WWW-Authenticate"),
            f"{bad.call}: expected invalid_token for a bad token.",
        )
        require_equal(f"the body of {bad.call} with a bad token", missing.body, bad.body)


@check("C-OWN-12", "C-OWN-14", part="read", feature="modhub_auth")
def without_a_token_every_mod_is_the_same_401(run: Run) -> None:
    """One that is there and one that is not, byte for byte. Only calls that would change nothing are tried."""
    mod_id = run.mods[0]["id"]
    calls = [("PUT", "", b"{}"), ("POST", "/publish", b""), ("POST", "/rehearsal", b""), ("GET", "/files", None)]
    for method, below, body in calls[: 2 if run.options.interface_only else 4]:
        mine = [run.service.call(method, f"/api/modhub/{number}{below}", body) for number in (mod_id, UNKNOWN_ID)]
        for reply in mine:
            reply.expect(401)
        require_equal(f"the body of {mine[1].call}", mine[0].body, mine[1].body)
        require_equal(f"the headers of {mine[1].call}", _unlike(mine[0]), _unlike(mine[1]))


@check("C-OWN-13", part="read", feature="modhub_auth", added=True)
def credentials_are_checked_before_input(run: Run) -> None:
    """A body that would be 400 is 401 without a token."""
    kind = {"Content-Type": "application/json"}
    for method, path in (
        ("POST", "/api/modhub"),
        ("PUT", f"/api/modhub/{UNKNOWN_ID}"),
        ("PUT", f"/api/modhub/{UNKNOWN_ID}/changelog/1"),
    ):
        run.service.call(method, path, b"[not json", kind).expect(401)
    run.service.call("POST", f"/api/modhub/{UNKNOWN_ID}/code", b"").expect(401)


@check("C-OWN-12", part="read", feature="modhub_auth")
def nothing_unknown_can_be_deleted_without_a_token(run: Run) -> None:
    """401 as for everything else."""
    for path in (f"/api/modhub/{UNKNOWN_ID}", f"/api/modhub/{UNKNOWN_ID}/changelog/1"):
        run.service.call("DELETE", path).expect(401)


@check("C-KEY-2", "C-ERR-2", part="read")
def a_key_that_is_missing_or_unknown_is_401(run: Run) -> None:
    """The two bodies are exact."""
    missing = run.service.get("/api/modhub/key").expect(401)
    require_equal("the body without a key", {"error": "no_api_key"}, missing.json())
    for key in ("nonsense", "0" * 64, "\xff"):
        unknown = run.service.call("GET", "/api/modhub/key", headers={"X-Api-Key": key}).expect(401)
        require_equal("the body with an unknown key", {"error": "unknown_api_key"}, unknown.json())


@check("C-KEY-2", part="read", feature="modhub_builds", added=True)
def nothing_is_published_without_a_key(run: Run) -> None:
    """Builds, sections and pages; the key is checked before anything else."""
    calls = [("POST", "/api/modhub/app/Not-An-Os!"), ("POST", "/api/modhub/app/changelog")]
    if "modhub_wiki" in run.features:
        calls.append(("PUT", "/Modhub/api/wiki/.."))
    for method, path in calls:
        for headers, code in (({}, "no_api_key"), ({"X-Api-Key": "nonsense"}, "unknown_api_key")):
            reply = run.service.call(method, path, b"", headers).expect(401)
            require_equal(f"the body of {reply.call}", {"error": code}, reply.json())


@check("C-ADDR-2", part="read", added=True)
def the_storage_address_needs_its_own_key(run: Run) -> None:
    """The same two bodies. What is sent is no address, so that nothing changes in any case."""
    body, kind = b'{"baseUrl": "no address"}', {"Content-Type": "application/json"}
    for headers, code in ((kind, "no_api_key"), ({**kind, "X-Api-Key": "nonsense"}, "unknown_api_key")):
        reply = run.service.call("POST", "/api/modhub/storage/address", body, headers).expect(401)
        require_equal("the body of the storage address", {"error": code}, reply.json())


@check("C-ERR-12", "C-TXT-7", part="read", feature="modhub_auth", added=True)
def a_body_of_an_account_call_is_limited(run: Run) -> None:
    """64 KB, which ``limitBytes`` names."""
    body = b'{"refreshToken": "' + b"x" * 64 * 1024 + b'"}'
    reply = run.service.call("POST", "/api/auth/refresh", body, {"Content-Type": "application/json"})
    require_equal("limitBytes", 64 * 1024, reply.expect_error(413).get("limitBytes"))


@check("C-ACC-16", part="read", feature="modhub_auth")
def signing_out_is_always_204(run: Run) -> None:
    """With an unknown token, and without a usable body."""
    run.service.post_json("/api/auth/logout", {"refreshToken": "nonsense"}).expect(204)
    if not run.options.interface_only:
        run.service.call("POST", "/api/auth/logout", b"nonsense", repeatable=True).expect(204)
