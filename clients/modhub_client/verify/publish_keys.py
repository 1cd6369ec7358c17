"""Part ``publish``: the machine key, and what it is refused. Nothing here is published."""

from typing import Any

from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.owner import declare_body, send
from modhub_client.verify.publisher import PLATFORM, publish_check, publisher_of
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import Run

BUILD_LIMIT = 64 * 1024 * 1024
SECTION_LIMIT = 256 * 1024
KEY_CALLS = (
    ("GET", "/api/modhub/key", "core"),
    ("POST", f"/api/modhub/app/{PLATFORM}", "modhub_builds"),
    ("POST", "/api/modhub/app/changelog", "modhub_builds"),
    ("DELETE", "/api/modhub/app/changelog", "modhub_builds"),
    ("PUT", "/Modhub/api/wiki/modhub-verify", "modhub_wiki"),
    ("DELETE", "/Modhub/api/wiki/modhub-verify", "modhub_wiki"),
    ("PUT", "/api/modhub/wiki/modhub-verify", "modhub_wiki"),
)


def wrong_keys(key: str) -> tuple[str, ...]:
    """Keys that are almost the right one."""
    return (key[:-1], f"{key}0", key.swapcase() if key.swapcase() != key else key[1:], "x", "0" * 64)


@publish_check("C-KEY-3")
def _the_key_is_valid(run: Run) -> None:
    """And its call changes nothing."""
    reply = publisher_of(run).call("GET", "/api/modhub/key").expect(200)
    require_equal("the answer to a valid key", {"ok": True}, reply.json())


@publish_check("C-KEY-2", "C-ERR-2")
def _other_keys_are_refused(run: Run) -> None:
    """By every call of a key, with the two exact bodies."""
    publisher = publisher_of(run)
    for method, path, feature in KEY_CALLS:
        if feature not in run.features:
            continue
        # Empty bodies, so that nothing is published if the service lets them through.
        reply = send(run.service, method, path, body=b"").expect(401)
        require_equal(f"{reply.call} without a key", {"error": "no_api_key"}, reply.json())
        for key in wrong_keys(publisher.key):
            reply = send(run.service, method, path, body=b"", headers={"X-Api-Key": key}).expect(401)
            require_equal(f"{reply.call} with a wrong key", {"error": "unknown_api_key"}, reply.json())


@publish_check("C-KEY-4", "C-ADDR-2")
def _the_key_is_no_address_key_and_no_token(run: Run) -> None:
    """Nor is it taken as a bearer token."""
    publisher = publisher_of(run)
    reply = publisher.call("POST", "/api/modhub/storage/address", {}).expect(401)
    require_equal("the storage address with a machine key", {"error": "unknown_api_key"}, reply.json())
    reply = send(run.service, "POST", "/api/modhub/storage/address", {}).expect(401)
    require_equal("the storage address without a key", {"error": "no_api_key"}, reply.json())
    publisher.call("GET", "/api/modhub/mine").expect(401)
    bearer = {"Authorization": f"Bearer {publisher.key}"}
    send(run.service, "GET", "/api/modhub/key", headers=bearer).expect(401)


def app_call(run: Run, method: str, path: str, **options: Any) -> Reply:
    """A call that publishes for the app; `Skipped` if the key may not."""
    reply = publisher_of(run).call(method, path, **options)
    if reply.status == 401:
        require_equal("a key without the scope", {"error": "unknown_api_key"}, reply.json())
        raise Skipped("the key has not the scope Modhub:app")
    return reply


@publish_check("C-APP-1", feature="modhub_builds")
def _bad_platforms_are_refused(run: Run) -> None:
    """Without a body, so that nothing can be published."""
    for name in ("Windows", "-a", "a-", "a--b", "a_b", "a" * 33, "%C3%A4", "a.b"):
        # No body, so that nothing is published if the name is taken.
        reply = app_call(run, "POST", f"/api/modhub/app/{name}", body=b"").expect_error(400)
        require(reply.get("message"), f"The refusal of the platform {name} has no sentence.")


@publish_check("C-APP-3", feature="modhub_builds")
def _bad_builds_are_refused(run: Run) -> None:
    """Empty, a form, encoded; none is listed."""
    path = f"/api/modhub/app/{PLATFORM}?version=refused"
    app_call(run, "POST", path, body=b"").expect_error(400)
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    app_call(run, "POST", path, body=b"--x--\r\n", headers=form).expect_error(400)
    app_call(run, "POST", path, body=b"x", headers={"Content-Encoding": "gzip"}).expect_error(400)
    listed = run.service.call("GET", "/api/modhub/app").expect(200).text
    require('"refused"' not in listed, "A refused build is in the list of builds.")


@publish_check("C-ERR-20", "C-UP-12", feature="modhub_builds")
def _a_build_that_is_declared_too_large_is_refused_at_once(run: Run) -> None:
    """None of it is sent."""
    key = {"X-Api-Key": publisher_of(run).key}
    path = f"/api/modhub/app/{PLATFORM}"
    declare_body(run, path, BUILD_LIMIT, {}).expect(401)
    app_call(run, "POST", path, body=b"")
    body = declare_body(run, path, BUILD_LIMIT + 1, key).expect_error(413)
    require_equal("limitBytes of a build", BUILD_LIMIT, body.get("limitBytes"))


@publish_check("C-APP-8", feature="modhub_builds")
def _bad_sections_are_refused(run: Run) -> None:
    """Empty, not UTF-8, too large; the changelog stays."""
    before = run.service.call("GET", "/api/modhub/app").expect(200).document()["changelog"]
    path, text = "/api/modhub/app/changelog", {"Content-Type": "text/plain"}
    for body in (b"", b" \r\n\t\n", b"modhub-verify \xff\xfe"):
        app_call(run, "POST", path, body=body, headers=text).expect_error(400)
    large = app_call(run, "POST", path, body=b" " * (SECTION_LIMIT + 1), headers=text).expect_error(413)
    require_equal("limitBytes of a section", SECTION_LIMIT, large.get("limitBytes"))
    after = run.service.call("GET", "/api/modhub/app").expect(200).document()["changelog"]
    require_equal("the app changelog after refusals", before, after)
