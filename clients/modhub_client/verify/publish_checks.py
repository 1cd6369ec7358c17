"""Part ``publish``: the machine key and what it is refused, a wiki page of its own, and with leave an app build.

The page is removed again; its revisions stay stored, unseen. Builds are kept, so they need ``--may-leave-traces``.
"""

from collections.abc import Mapping
from typing import Any, Final

from modhub_client.output import WrongUse
from modhub_client.verify.checks import publish_check
from modhub_client.verify.owner import MARK, Editor, declare_body
from modhub_client.verify.replies import (
    Broken,
    LeftBehind,
    Reply,
    Skipped,
    Unreachable,
    require,
    require_equal,
)
from modhub_client.verify.run import Run
from modhub_client.verify.shapes import NUMBER, TEXT, object_of, require_shape

PLATFORM: Final = MARK
"""The platform of the builds that may leave traces: nobody else's."""


class RunPublisher(Editor):
    """The key at work. ``page`` is the path of the run's wiki page."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self.key = run.credentials.machine_key
        self.page = f"{MARK}-{self.nonce}"
        self.made: set[str] = set()
        """The paths of wiki pages that this run has published and not removed."""
        self.section = ""
        """The section of the app changelog that this run publishes; empty once it is taken back."""

    @property
    def credential(self) -> Mapping[str, str]:
        """The key."""
        return {"X-Api-Key": self.key}

    def publish_page(self, path: str, text: bytes, query: str = "", method: str = "PUT", prefix: str = "") -> Reply:
        """Publish a wiki page; it is removed at the end."""
        self.made.add(path)
        address = f"{prefix or '/Modhub/api/wiki'}/{path}{query}"
        return self.call(method, address, body=text, headers={"Content-Type": "text/markdown"}, repeatable=True)

    def remove_page(self, path: str) -> Reply:
        """Remove a wiki page."""
        reply = self.call("DELETE", f"/Modhub/api/wiki/{path}")
        if reply.status in {204, 404}:
            self.made.discard(path)
        return reply

    def pop_section(self) -> Reply:
        """Take the run's section back; `Skipped` unless it is on top, as the call takes the newest one."""
        changelog = str(self.service.read("/api/modhub/app")["changelog"])
        if not changelog.startswith(self.section):
            if self.section not in changelog:
                self.section = ""
            raise Skipped("another section is on top of the run's own")
        reply = self.call("DELETE", "/api/modhub/app/changelog", repeatable=False)
        if reply.status == 200:
            self.section = ""
        return reply

    def try_to_leave(self) -> str:
        """Remove the pages and the section, builds apart. What is not on top stays: that is told at once."""
        try:
            for path in sorted(self.made):
                self.remove_page(path)
            if self.section:
                self.pop_section()
        except Skipped:
            if left := self._left():
                raise LeftBehind(left) from None
        except (Broken, Unreachable):
            pass  # It is tried again.
        return self._left()

    def _left(self) -> str:
        left = [f"the wiki page {path}" for path in sorted(self.made)]
        left += [f"a section of the app changelog that begins with {self.section[:40]!r}"] if self.section else []
        return f"These could not be removed: {', '.join(left)}. Remove them by hand." if left else ""


def publisher_of(run: Run) -> RunPublisher:
    """The key of this run; `Skipped` if none was given."""
    if not run.credentials.machine_key:
        raise Skipped("no machine key was given")
    if "publisher" not in run.notes:
        run.notes["publisher"] = RunPublisher(run)
    publisher: RunPublisher = run.notes["publisher"]
    return publisher


def require_key(run: Run) -> None:
    """`WrongUse` if the service refuses the key, as `owner.require_account`."""
    reply = publisher_of(run).call("GET", "/api/modhub/key")
    if reply.status != 200:
        raise WrongUse(f"The service refuses the machine key ({reply.status} {reply.error}).")


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


@publish_check("C-KEY-2")
def _other_keys_are_refused(run: Run) -> None:
    """By every call of a key, with the two exact bodies."""
    publisher = publisher_of(run)
    for method, path, feature in KEY_CALLS:
        if feature not in run.features:
            continue
        # Empty bodies, so that nothing is published if the service lets them through.
        reply = run.service.call(method, path, body=b"").expect(401)
        require_equal(f"{reply.call} without a key", {"error": "no_api_key"}, reply.json())
        for key in wrong_keys(publisher.key):
            reply = run.service.call(method, path, body=b"", headers={"X-Api-Key": key}).expect(401)
            require_equal(f"{reply.call} with a wrong key", {"error": "unknown_api_key"}, reply.json())


@publish_check("C-KEY-1", "C-KEY-2")
def _the_key_is_no_address_key_and_no_token(run: Run) -> None:
    """Nor is it taken as a bearer token."""
    publisher = publisher_of(run)
    reply = publisher.call("POST", "/api/modhub/storage/address", {}).expect(401)
    require_equal("the storage address with a machine key", {"error": "unknown_api_key"}, reply.json())
    publisher.call("GET", "/api/modhub/mine").expect(401)
    bearer = {"Authorization": f"Bearer {publisher.key}"}
    run.service.call("GET", "/api/modhub/key", headers=bearer).expect(401)


def app_call(run: Run, path: str, **options: Any) -> Reply:
    """A call that publishes for the app; `Skipped` if the key may not."""
    reply = publisher_of(run).call("POST", path, **options)
    if reply.status == 401:
        require_equal("a key without the scope", {"error": "unknown_api_key"}, reply.json())
        raise Skipped("the key has not the scope Modhub:app")
    return reply


@publish_check("C-APP-1", feature="modhub_builds")
def _bad_platforms_are_refused(run: Run) -> None:
    """Without a body, so that nothing can be published."""
    for name in ("Windows", "-a", "a-", "a--b", "a_b", "a" * 33, "%C3%A4", "a.b"):
        # No body, so that nothing is published if the name is taken.
        reply = app_call(run, f"/api/modhub/app/{name}", body=b"").expect_error(400)
        require(reply.get("message"), f"The refusal of the platform {name} has no sentence.")


@publish_check("C-APP-3", feature="modhub_builds")
def _bad_builds_are_refused(run: Run) -> None:
    """Empty, a form, encoded; none is listed."""
    path = f"/api/modhub/app/{PLATFORM}?version=refused"
    app_call(run, path, body=b"").expect_error(400)
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    app_call(run, path, body=b"--x--\r\n", headers=form).expect_error(400)
    app_call(run, path, body=b"x", headers={"Content-Encoding": "gzip"}).expect_error(400)
    listed = run.service.get("/api/modhub/app").expect(200).text
    require('"refused"' not in listed, "A refused build is in the list of builds.")


@publish_check("C-ERR-20", "C-UP-11", feature="modhub_builds")
def _a_build_that_is_declared_too_large_is_refused_at_once(run: Run) -> None:
    """None of it is sent."""
    key = publisher_of(run).credential
    path = f"/api/modhub/app/{PLATFORM}"
    declare_body(run, path, BUILD_LIMIT, {}).expect(401)
    app_call(run, path, body=b"")
    body = declare_body(run, path, BUILD_LIMIT + 1, key).expect_error(413)
    require_equal("limitBytes of a build", BUILD_LIMIT, body.get("limitBytes"))


@publish_check("C-APP-8", feature="modhub_builds")
def _bad_sections_are_refused(run: Run) -> None:
    """Empty, not UTF-8, too large; the changelog stays."""
    before = run.service.read("/api/modhub/app")["changelog"]
    path, text = "/api/modhub/app/changelog", {"Content-Type": "text/plain"}
    for body in (b"", b" \r\n\t\n", b"modhub-verify \xff\xfe"):
        app_call(run, path, body=body, headers=text).expect_error(400)
    large = app_call(run, path, body=b" " * (SECTION_LIMIT + 1), headers=text).expect_error(413)
    require_equal("limitBytes of a section", SECTION_LIMIT, large.get("limitBytes"))
    after = run.service.read("/api/modhub/app")["changelog"]
    require_equal("the app changelog after refusals", before, after)


PAGE_LIMIT = 1024 * 1024
BUILD = object_of(os=TEXT, version=TEXT, bytes=NUMBER, url=TEXT, newest=TEXT)
PAGE = object_of(path=TEXT, title=TEXT, url=TEXT, revision=NUMBER, updatedAt=TEXT)


def wiki(run: Run) -> RunPublisher:
    """The key; `Skipped` if it may not publish wiki pages."""
    publisher = publisher_of(run)
    if "may publish pages" not in run.notes:
        # A page that is not there: nothing changes.
        reply = publisher.call("DELETE", f"/Modhub/api/wiki/{publisher.page}")
        run.notes["may publish pages"] = reply.status != 401
        if reply.status == 401:
            require_equal("a key without the scope", {"error": "unknown_api_key"}, reply.json())
    if not run.notes["may publish pages"]:
        raise Skipped("the key has not the scope Modhub:wiki")
    return publisher


@publish_check("C-WIKI-1", feature="modhub_wiki")
def _bad_paths_are_refused(run: Run) -> None:
    """As sent, dots and encoded slashes too."""
    publisher = wiki(run)
    for path in ("-a", ".a", "a//b", "a/../b", "a/.", "%2e%2e", "a%2Fb%20c", "_a", "%C3%A4", "a" * 201):
        publisher.publish_page(path, b"x").expect_error(400)
        publisher.made.discard(path)


@publish_check("C-WIKI-2", feature="modhub_wiki")
def _bad_pages_are_refused(run: Run) -> None:
    """Empty, not UTF-8, over 1 MB; there is no page."""
    publisher = wiki(run)
    for text in (b"", b" \n", b"\xff"):
        publisher.publish_page(publisher.page, text).expect_error(400)
    body = publisher.publish_page(publisher.page, b"x" * (PAGE_LIMIT + 1)).expect_error(413)
    require_equal("limitBytes of a page", PAGE_LIMIT, body.get("limitBytes"))
    run.service.get(f"/Modhub/api/wiki/{publisher.page}").expect(404)


@publish_check("C-WIKI-2", feature="modhub_wiki")
def _a_page_is_published_and_changed(run: Run) -> None:
    """Its title is the query's, that of its heading, or its last segment."""
    publisher = wiki(run)
    page = publisher.page
    made = publisher.publish_page(page, b"text without a heading").expect_document(201)
    require_shape("a page", PAGE, made)
    require_equal("path, title and revision", (page, page, 1), (made["path"], made["title"], made["revision"]))
    changed = publisher.publish_page(page, f"# About {page}\n\ntext".encode()).expect_document()
    require_equal("title and revision", (f"About {page}", 2), (changed["title"], changed["revision"]))
    named = publisher.publish_page(page, b"# Heading", "?title=modhub-verify+title", "POST").expect_document()
    require_equal("title and revision", ("modhub-verify title", 3), (named["title"], named["revision"]))
    publisher.remove_page(page).expect(204)


@publish_check("C-WIKI-6", feature="modhub_wiki")
def _a_page_is_read_as_it_was_sent(run: Run) -> None:
    """By everybody, with an ``ETag``, and listed."""
    publisher = wiki(run)
    path, text = f"{publisher.page}/read", "# modhub-verify\n\nÄ *text*.\n"
    publisher.publish_page(path, text.encode()).expect(201)
    reply = run.service.get(f"/Modhub/api/wiki/{path}").expect(200)
    require_equal("the text of a page", text, reply.text)
    require_equal("the type of a page", "text/markdown", reply.media_type)
    require(reply.header("ETag"), "A page has no ETag.")
    run.service.call("GET", f"/Modhub/api/wiki/{path}", headers={"If-None-Match": reply.header("ETag")}).expect(304)
    listed = run.service.read("/Modhub/api/wiki")
    paths = [page["path"] for page in listed["pages"]]
    require_equal("count of the pages", len(paths), listed["count"])
    require(path in paths, "The list of pages misses one.")
    publisher.remove_page(path).expect(204)


@publish_check("C-WIKI-7", feature="modhub_wiki")
def _the_older_address_answers_the_same(run: Run) -> None:
    """To ``PUT``, ``GET`` and ``DELETE``."""
    publisher = wiki(run)
    path, old = f"{publisher.page}/older", "/api/modhub/wiki"
    publisher.publish_page(path, b"# modhub-verify", prefix=old).expect(201)
    first = run.service.get(f"{old}/{path}").expect(200)
    other = run.service.get(f"/Modhub/api/wiki/{path}").expect(200)
    require_equal("a page at both addresses", other.body, first.body)
    publisher.call("DELETE", f"{old}/{path}").expect(204)
    publisher.remove_page(path).expect(404)


@publish_check("C-WIKI-5", feature="modhub_wiki")
def _a_removed_page_is_gone(run: Run) -> None:
    """A second time it is 404."""
    publisher = wiki(run)
    path = f"{publisher.page}/removed"
    publisher.publish_page(path, b"# modhub-verify").expect(201)
    publisher.remove_page(path).expect(204)
    publisher.remove_page(path).expect(404)
    run.service.get(f"/Modhub/api/wiki/{path}").expect(404)
    require(publisher.page not in run.service.get("/Modhub/api/wiki").text, "A removed page is listed.")


def traces(run: Run) -> RunPublisher:
    """The key; `Skipped` unless the run may leave what it publishes."""
    publisher = publisher_of(run)
    if not run.may_leave_traces:
        raise Skipped("needs --may-leave-traces")
    return publisher


@publish_check("C-APP-2", "C-APP-5", "C-APP-7", feature="modhub_builds")
def _builds_are_published_and_kept(run: Run) -> None:
    """Two of them, the first without losing its address."""
    publisher = traces(run)
    files = [f"{publisher.nonce} build {number}".encode() for number in (1, 2)]
    made = []
    for content, query in zip(files, (f"?version={publisher.nonce}&name=build.zip", ""), strict=True):
        reply = app_call(run, f"/api/modhub/app/{PLATFORM}{query}", body=content).expect(201)
        made.append(reply.document())
        require_shape("a build", BUILD, made[-1])
    require_equal("version and bytes", (publisher.nonce, len(files[0])), (made[0]["version"], made[0]["bytes"]))
    require_equal("newest", f"/Modhub/app/{PLATFORM}", made[0]["newest"])
    for build, content in zip(made, files, strict=True):
        require_equal("the file of a build", content, run.service.get(build["url"]).expect(200).body)
    newest = run.service.get(made[1]["newest"]).expect(200)
    require_equal("the newest build", files[1], newest.body)
    require(f"modhub-{PLATFORM}.zip" in newest.header("Content-Disposition"), "A build without a name has no default.")
    require("no-cache" in newest.header("Cache-Control"), "The newest build may be cached without revalidation.")
    listed = run.service.read("/api/modhub/app")["builds"]
    versions = [version["url"] for build in listed if build["os"] == PLATFORM for version in build["versions"]]
    require_equal("the newest builds of a list", [build["url"] for build in made[::-1]], versions[:2])


@publish_check("C-APP-8", "C-APP-10", feature="modhub_builds")
def _a_section_is_put_on_top_and_taken_back(run: Run) -> None:
    """Only while it is on top."""
    publisher = traces(run)
    before = str(run.service.read("/api/modhub/app")["changelog"])
    app_call(run, "/api/modhub/app/changelog", body=b"").expect_error(400)
    text = f"modhub-verify {publisher.nonce} <b>first</b>\nsecond"
    publisher.section = text
    sent = f"\r\n\r\n{text}\r\n \r\n".replace("first</b>\n", "first</b>\r\n").encode()
    reply = app_call(run, "/api/modhub/app/changelog", body=sent).expect_document(201)
    require_equal("characters", len(text), reply["characters"])
    changelog = str(run.service.read("/api/modhub/app")["changelog"])
    require_equal("the app changelog", f"{text}\n\n{before}" if before else text, changelog)
    require_equal("whole", len(changelog), reply["whole"])
    taken = publisher.pop_section().expect_document()
    require_equal("what is left of the changelog", (before, len(before)), (taken["changelog"], taken["characters"]))
