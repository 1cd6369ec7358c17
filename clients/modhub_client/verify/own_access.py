"""Part ``own``: who may do what. Nothing of a draft is visible to anybody but its owner, by any route (C-PRO-2)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from modhub_client.verify.checks import own_check
from modhub_client.verify.follow_changes import follow_all, read_changes
from modhub_client.verify.follow_plans import put_question
from modhub_client.verify.own_mod import PNG, OwnMod, mod_of
from modhub_client.verify.owner import declare_body, foreign_mod, owner_of
from modhub_client.verify.replies import Reply, Skipped, require, require_equal, require_same
from modhub_client.verify.run import UNKNOWN_GUID, UNKNOWN_ID, Run, find_asset
from modhub_client.verify.shapes import described_answer

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


@own_check("C-OWN-12")
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


@own_check("C-OWN-18", added=True)
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
    answer = described_answer(run, "POST /api/modhub/{id}/rehearsal", mod.call("POST", "/rehearsal"))
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
    body = declare_body(run, path, CODE_LIMIT + 1, mod.owner.credential).expect_error(413)
    require_equal("limitBytes of code", CODE_LIMIT, body.get("limitBytes"))


def full_draft(run: Run) -> OwnMod:
    """The draft with everything that a leak could show."""
    mod = mod_of(run)
    if "full draft" not in run.notes:
        nonce = mod.owner.nonce
        description = {"description": f"<p>Secret {nonce}</p>", "games": [f"Game {nonce}"]}
        mod.edited({"title": f"{mod.owner.mark} secret", "requires": [], "conflictsWith": [], **description})
        mod.upload("code", mod.content, "name=secret.zip&version=hidden").expect(201)
        mod.upload("css", b"a {}", "name=secret.css").expect(201)
        mod.upload("images", PNG, "name=secret.png").expect(201)
        run.notes["full draft"] = True
    _ = mod.draft
    return mod


def visitors(run: Run, mod: OwnMod, path: str) -> Iterator[Reply]:
    """What a visitor gets, and what the owner gets where credentials do not count (C-HTTP-5)."""
    yield run.service.get(path)
    yield mod.owner.call("GET", path)


def require_hidden(mod: OwnMod, reply: Reply) -> Reply:
    """`Broken` if a response has something of the run's mod."""
    for secret in (mod.owner.nonce, mod.guid, mod.digest):
        headers = str(reply.headers)
        require(secret not in reply.body.decode("utf-8", "replace") + headers, f"{reply.call}: shows the draft.")
    return reply


def require_absent(run: Run, rest: str) -> None:
    """`Broken` unless an address below the draft answers as one below a mod that does not exist: 404."""
    mod = full_draft(run)
    for reply in visitors(run, mod, mod.path(rest)):
        require_hidden(mod, reply).expect_error(404)
        unknown = run.service.get(f"/api/modhub/{UNKNOWN_ID}{rest}")
        require_same(f"…{rest} of a draft and of nothing", reply, unknown)


@own_check("C-READ-1", "C-READ-8", "C-READ-9", "C-VOTE-2", "C-HTTP-5")
def _a_draft_is_not_read(run: Run) -> None:
    """Nor its changelog, its file and its votes: the same 404 as for nothing, to its owner too."""
    for rest in ("", "/changelog", "/download", "/vote"):
        require_absent(run, rest)


@own_check("C-PIC-9", "C-OWN-18", added=True)
def _captions_and_successor_of_a_draft_are_not_read(run: Run) -> None:
    for rest in ("/captions", "/superseded"):
        require_absent(run, rest)


@own_check("C-TAG-2", feature="modhub_tags", added=True)
def _the_tags_of_a_draft_are_not_read(run: Run) -> None:
    require_absent(run, "/tags")


@own_check("C-DL-4", feature="modhub_downloads", added=True)
def _the_downloads_of_a_draft_are_not_read(run: Run) -> None:
    require_absent(run, "/downloads")


@own_check("C-PRF-6", feature="modhub_profiles", added=True)
def _the_links_of_a_draft_are_not_read(run: Run) -> None:
    require_absent(run, "/links")


@own_check("C-FILE-7", "C-PIC-1")
def _no_file_of_a_draft_is_served(run: Run) -> None:
    """Code, css and image, to its owner neither."""
    mod = full_draft(run)
    for kind in ("code", "css", "image"):
        path = find_asset(mod.now(), kind)["url"]
        unknown = run.service.get(f"/Modhub/file/{UNKNOWN_ID}").expect(404)
        for reply in visitors(run, mod, path):
            require_hidden(mod, reply).expect(404)
            require_same(f"the {kind} file of a draft and of nothing", reply, unknown)


@own_check("C-LIST-1")
def _a_draft_is_in_no_list_and_no_total(run: Run) -> None:
    """Searched for by its own words and games."""
    mod = full_draft(run)
    nonce = mod.owner.nonce
    queries = ("", "?size=100", "?sort=top&size=100", f"?q={nonce}", f"?game=Game+{nonce}", "?q=modhub-verify")
    for query in queries:
        for reply in visitors(run, mod, f"/api/modhub{query}"):
            require_hidden(mod, reply.expect(200))
            if nonce in query:
                body = reply.document()
                require_equal(f"total and count of {query}", (0, 0), (body["total"], body["count"]))


@own_check("C-READ-1")
def _the_page_of_a_draft_is_the_same_404_for_everybody(run: Run) -> None:
    """As for a mod that does not exist."""
    mod = full_draft(run)
    unknown = run.service.get(f"/Modhub/{UNKNOWN_ID}").expect(404)
    for reply in visitors(run, mod, f"/Modhub/{mod.id}"):
        require_hidden(mod, reply).expect(404)
        require_equal("the page of a draft and of nothing", _plain(unknown, UNKNOWN_ID), _plain(reply, mod.id))


def _plain(reply: Reply, number: int) -> str:
    """A page without what names the address or the request."""
    request_id = reply.header("X-Request-Id")
    text = reply.body.decode("utf-8", "replace").replace(f"/{number}", "/N")
    return text.replace(request_id, "R") if request_id else text


@own_check("C-PAGE-60", added=True)
def _the_archive_of_a_draft_is_404(run: Run) -> None:
    """To its owner too."""
    mod = full_draft(run)
    for reply in visitors(run, mod, f"/Modhub/{mod.id}/everything.zip"):
        require_hidden(mod, reply).expect(404)


@own_check("C-PRO-2", added=True)
def _a_draft_is_in_no_group_of_a_search(run: Run) -> None:
    """Nor in the lists of descriptions and authors."""
    mod = full_draft(run)
    for path in ("/Modhub?q={}", "/Modhub/descriptions?q={}", "/Modhub/authors?q={}", "/Modhub?game=Game+{}"):
        for reply in visitors(run, mod, path.format(quote(mod.owner.nonce))):
            # The page repeats what was looked for.
            require(f'/Modhub/{mod.id}"' not in reply.text, f"{reply.call}: leads to the draft.")
            require(mod.guid not in reply.text and f"Secret {mod.owner.nonce}" not in reply.text, "shows the draft.")


@own_check("C-PRO-2")
def _no_page_feed_or_map_shows_a_draft(run: Run) -> None:
    """Front, lists, feeds, sitemap, and the pages of its author."""
    mod = full_draft(run)
    paths = ["/Modhub", "/Modhub?sort=new", "/Modhub?sort=top", "/Modhub/feed", "/Modhub/feed.json", "/sitemap.xml"]
    paths += [f"/Modhub/{mod.id}/feed", f"/Modhub/{mod.id}/feed.json", "/api/modhub/games"]
    author = f"/Modhub/by/{mod.owner.account_id}"
    paths += [author, f"{author}/feed", f"{author}/feed.json"]
    for path in paths:
        for reply in visitors(run, mod, path):
            require(reply.status in {200, 301, 302, 303, 404}, f"{reply.call}: came {reply.status}.")
            require_hidden(mod, reply)


@own_check("C-SYNC-1", feature="modhub_sync", added=True)
def _the_guid_of_a_draft_is_unknown(run: Run) -> None:
    """In any case, the same 404 as for nothing."""
    mod = full_draft(run)
    unknown = run.service.get(f"/api/modhub/guid/{UNKNOWN_GUID}").expect(404)
    for guid in (mod.guid, mod.guid.upper()):
        for reply in visitors(run, mod, f"/api/modhub/guid/{guid}"):
            require_equal("the status of a draft by its GUID", 404, reply.status)
            require_same("a draft by its GUID and nothing", reply, unknown)


@own_check("C-SYNC-16", "C-SYNC-9", "C-SYNC-3", feature="modhub_sync", added=True)
def _a_draft_is_missing_to_programs_that_follow(run: Run) -> None:
    """To look-ups, plans and update checks, as a GUID of nobody is."""
    guid = full_draft(run).guid
    found = put_question(run, "lookup", guids=[guid]).expect_document()
    require_equal("a look-up of a draft", ([], [guid]), (found["mods"], found["missing"]))
    plan = put_question(run, "plan", want=[guid]).expect_document()
    missing = [entry["guid"] for entry in plan["missing"]]
    require_equal("steps of a plan for a draft, and missing", ([], [guid]), (plan["steps"], missing))
    known = put_question(run, "updates", have=[{"guid": guid, "version": "1"}]).expect_document()
    require_equal("an update check of a draft", ([], [guid]), (known["changed"], known["gone"]))


@own_check("C-SYNC-5", feature="modhub_sync", added=True)
def _a_draft_is_no_change(run: Run) -> None:
    """Its edits are none either."""
    mod = full_draft(run)
    note_serial(run)
    mod.edited({"description": f"<p>Secret {mod.owner.nonce} again</p>"})
    require_equal("changes of a draft", [], changes_of(run, mod.guid))


def note_serial(run: Run) -> None:
    """Remember the end of the list of changes, before the run's mod is published."""
    if "serial" not in run.notes and mod_of(run).published is None:
        changes = follow_all(run)
        run.notes["serial"] = changes[-1]["serial"] if changes else 0


def changes_of(run: Run, guid: str) -> list[dict[str, Any]]:
    """The changes of a mod since ``run.notes["serial"]``."""
    if "serial" not in run.notes:
        raise Skipped("the list of changes was not read before")
    page = read_changes(run, run.notes["serial"])
    return [change for change in page["changes"] if change.get("guid") == guid]
