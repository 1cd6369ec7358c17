"""Part ``own``: who may do what. A mod of somebody else and one that does not exist are the same to everybody."""

from modhub_client.verify.checks import own_check
from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.own_mod import mod_of
from modhub_client.verify.owner import declare_body, foreign_mod, owner_of
from modhub_client.verify.replies import require, require_equal, require_keys, require_same
from modhub_client.verify.run import UNKNOWN_GUID, UNKNOWN_ID, Run

OWNER_CALLS = (
    ("PUT", "", {"title": "x"}),
    ("POST", "/publish", None),
    ("DELETE", "", None),
    ("PUT", "/changelog/1", {"text": "x"}),
    ("DELETE", "/images/1", None),
    ("POST", "/css?name=a.css", None),
    ("GET", "/files", None),
)
CODE_LIMIT = 64 * 1024 * 1024
NO_TOKENS = ("", "Bearer", "Bearer x", "Basic eDp5", "Bearer " + "A" * 5000)


@own_check("C-OWN-12", "C-ERR-6")
def _without_a_token_every_owner_call_is_one_401(run: Run) -> None:
    """The same for the run's mod and for none, with a challenge."""
    mod = mod_of(run)
    for method, rest, value in OWNER_CALLS:
        first = run.service.call(method, mod.path(rest), value, body=b"")
        other = run.service.call(method, f"/api/modhub/{UNKNOWN_ID}{rest}", value, body=b"")
        challenge = first.expect(401).header("WWW-Authenticate")
        require(challenge.startswith("Bearer") and "error" not in challenge, f"{first.call}: came {challenge!r}.")
        require_same(f"{method} …{rest} without a token", first, other)
    require(mod.now(), "A call without a token deleted the mod.")


@own_check("C-TOK-2")
def _a_bad_token_is_401_and_says_so(run: Run) -> None:
    """Edited in five ways; other headers are no token at all."""
    owner = owner_of(run)
    good = owner.token
    edited = (good[:-1] + ("A" if good[-1] != "A" else "B"), good + "A", good[1:], good + "=", good.swapcase())
    for token in edited:
        reply = run.service.call("GET", "/api/modhub/mine", headers={"Authorization": f"Bearer {token}"}).expect(401)
        require(
            'error="invalid_token"' in reply.header("WWW-Authenticate"),
            f"A bad token: expected invalid_token, came {reply.header('WWW-Authenticate')}.",
        )
    for header in NO_TOKENS:
        headers = {"Authorization": header} if header else {}
        run.service.call("GET", "/api/modhub/mine", headers=headers).expect(401)
    owner.call("GET", "/api/modhub/mine").expect(200)


@own_check("C-OWN-14")
def _somebody_elses_mod_is_as_one_that_does_not_exist(run: Run) -> None:
    """By calls that would change nothing."""
    owner, number = owner_of(run), foreign_mod(run)
    # Nothing that would do harm if the service let it through.
    for method, rest, value in (("PUT", "", {}), ("GET", "/files", None), ("GET", "/notes", None)):
        first = owner.call(method, f"/api/modhub/{number}{rest}", value).expect(401)
        other = owner.call(method, f"/api/modhub/{UNKNOWN_ID}{rest}", value)
        require_same(f"{method} …{rest} of somebody else", first, other)


@own_check("C-OWN-13")
def _credentials_come_before_input_and_input_before_state(run: Run) -> None:
    """Each call has two faults."""
    mod = mod_of(run)
    run.service.call("PUT", mod.path(), body=b"{").expect(401)
    run.service.call("POST", "/api/modhub", body=b"{").expect(401)
    mod.owner.call("PUT", f"/api/modhub/{UNKNOWN_ID}", body=b"{").expect(401)
    mod.call("PUT", body=b"{", headers={"If-Match": '"2001"'}).expect(400)


@own_check("C-OWN-33", "C-OWN-18", added=True)
def _a_successor_is_set_and_cleared(run: Run) -> None:
    """Nobody sees a draft as one; the mod itself, or what is no mod, is refused."""
    mod = mod_of(run)
    path = f"/api/modhub/{mod.other['id']}/superseded"
    before = mod.other["updatedAt"]
    answer = mod.owner.call("PUT", path, {"by": mod.guid}).expect_document()
    # Nobody sees a draft as a successor.
    require_equal("supersededBy of a draft", None, answer["supersededBy"])
    moved = next(entry for entry in mod.owner.mine() if entry["id"] == mod.other["id"])
    require(moved["updatedAt"] > before, "updatedAt does not move with a successor.")
    for bad in (mod.other["guid"], "no mod", "", 1):
        mod.owner.call("PUT", path, {"by": bad}).expect_error(400)
    mod.owner.call("PUT", path, {"by": None}).expect(200)


@own_check("C-TAG-3", feature="modhub_tags", added=True)
def _tags_replace_each_other(run: Run) -> None:
    """Doubles count once; unknown ones and six are refused."""
    mod = mod_of(run)
    names = [tag["name"] for tag in run.service.read("/api/modhub/tags")["tags"]]
    if not names:
        raise Skipped("the operator has no tags")
    answer = mod.call("PUT", "/tags", {"tags": [names[-1], names[-1]]}).expect_document()
    require_equal("tags that were sent twice", [names[-1]], answer["tags"])
    for bad in (["No-Tag-Has-Capitals"], names[:6] if len(names) > 5 else ["?"]):
        mod.call("PUT", "/tags", {"tags": bad}).expect_error(400)
    require_equal("tags", [names[0]], mod.call("PUT", "/tags", {"tags": names[:1]}).document()["tags"])


@own_check("C-PRF-1", "C-PRF-2", "C-PRF-3", feature="modhub_profiles", added=True)
def _links_are_checked(run: Run) -> None:
    """Only https, no number, no user name; ASCII and SPDX are stored."""
    mod = mod_of(run)
    path = mod.path("/links")
    sent = {"source": "https://bücher.example.org/ä", "license": "mit"}
    answer = mod.owner.call("PUT", path, sent).expect_document()
    require_equal("a link", "https://xn--bcher-kva.example.org/%C3%A4", answer["source"])
    require_equal("a licence", "MIT", answer["license"])
    for bad in ("http://example.org/", "https://1.2.3.4/", "https://a:b@example.org/", "https://localhost/", "x" * 201):
        mod.owner.call("PUT", path, {"report": bad}).expect_error(400)
    mod.owner.call("PUT", path, {"license": "no licence"}).expect_error(400)
    answer = mod.owner.call("PUT", path, {"source": None}).expect_document()
    require_equal("links after one was cleared", (None, "MIT"), (answer["source"], answer["license"]))


@own_check("C-OWN-17", added=True)
def _a_rehearsal_says_what_visitors_would_get(run: Run) -> None:
    """A draft and a GUID of nobody are told apart, and nothing changes."""
    mod = mod_of(run)
    mod.edited({"requires": [mod.other["guid"], UNKNOWN_GUID], "conflictsWith": []})
    before = mod.now()
    answer = mod.call("POST", "/rehearsal").expect_document()
    lists = ("install", "missing", "unpublished", "conflicts", "trimmed", "archive", "games", "texts", "images")
    require_keys("a rehearsal", answer, ("ready", *lists))
    require_equal("unpublished", [mod.other["guid"]], answer["unpublished"])
    require_equal("missing", [UNKNOWN_GUID], answer["missing"])
    require_equal("the last mod of install", mod.id, answer["install"][-1]["id"])
    require_equal("the mod after a rehearsal", before, mod.now())


@own_check("C-HTTP-5")
def _pages_accept_no_token_and_calls_no_cookie(run: Run) -> None:
    """The token is tried as both."""
    owner = owner_of(run)
    page = owner.call("GET", "/Modhub/mine")
    require(page.status in {302, 303, 307, 404}, f"/Modhub/mine with a token: expected a redirect, came {page.status}.")
    cookie = {"Cookie": f"session={owner.token}; modhub={owner.token}; access_token={owner.token}"}
    run.service.call("GET", "/api/modhub/mine", headers=cookie).expect(401)


@own_check("C-ERR-20")
def _a_file_that_is_declared_too_large_is_refused_at_once(run: Run) -> None:
    """None of it is sent."""
    mod = mod_of(run)
    _ = mod.draft
    path = mod.path("/code?name=large.zip&version=large")
    declare_body(run, path, CODE_LIMIT, {}).expect(401)
    token = {"Authorization": f"Bearer {mod.owner.token}"}
    body = declare_body(run, path, CODE_LIMIT + 1, token).expect_error(413)
    require_equal("limitBytes of code", CODE_LIMIT, body.get("limitBytes"))
