"""Part ``publish``: a wiki page of the run's own, which is removed again. Its revisions stay stored, unseen."""

from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.publisher import RunPublisher, publish_check, publisher_of
from modhub_client.verify.replies import require, require_equal, require_keys
from modhub_client.verify.run import Run

LIMIT = 1024 * 1024
PAGE = ("path", "title", "url", "revision", "updatedAt")


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


@publish_check("C-WIKI-4", feature="modhub_wiki")
def _bad_pages_are_refused(run: Run) -> None:
    """Empty, not UTF-8, over 1 MB; there is no page."""
    publisher = wiki(run)
    for text in (b"", b" \n", b"\xff"):
        publisher.publish_page(publisher.page, text).expect_error(400)
    body = publisher.publish_page(publisher.page, b"x" * (LIMIT + 1)).expect_error(413)
    require_equal("limitBytes of a page", LIMIT, body.get("limitBytes"))
    run.service.call("GET", f"/Modhub/api/wiki/{publisher.page}").expect(404)


@publish_check("C-WIKI-2", "C-WIKI-3", feature="modhub_wiki")
def _a_page_is_published_and_changed(run: Run) -> None:
    """Its title is the query's, that of its heading, or its last segment."""
    publisher = wiki(run)
    page = publisher.page
    made = publisher.publish_page(page, b"text without a heading").expect(201).document()
    require_keys("a page", made, PAGE)
    require_equal("path, title and revision", (page, page, 1), (made["path"], made["title"], made["revision"]))
    changed = publisher.publish_page(page, f"# About {page}\n\ntext".encode()).expect(200).document()
    require_equal("title and revision", (f"About {page}", 2), (changed["title"], changed["revision"]))
    named = publisher.publish_page(page, b"# Heading", "?title=modhub-verify+title", "POST").expect(200).document()
    require_equal("title and revision", ("modhub-verify title", 3), (named["title"], named["revision"]))
    publisher.remove_page(page).expect(204)


@publish_check("C-WIKI-6", feature="modhub_wiki")
def _a_page_is_read_as_it_was_sent(run: Run) -> None:
    """By everybody, with an ``ETag``, and listed."""
    publisher = wiki(run)
    path, text = f"{publisher.page}/read", "# modhub-verify\n\nÄ *text*.\n"
    publisher.publish_page(path, text.encode()).expect(201)
    reply = run.service.call("GET", f"/Modhub/api/wiki/{path}").expect(200)
    require_equal("the text of a page", text, reply.text)
    require_equal("the type of a page", "text/markdown", reply.media_type)
    require(reply.header("ETag"), "A page has no ETag.")
    run.service.call("GET", f"/Modhub/api/wiki/{path}", headers={"If-None-Match": reply.header("ETag")}).expect(304)
    listed = run.service.call("GET", "/Modhub/api/wiki").expect(200).document()
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
    first = run.service.call("GET", f"{old}/{path}").expect(200)
    other = run.service.call("GET", f"/Modhub/api/wiki/{path}").expect(200)
    require_equal("a page at both addresses", other.body, first.body)
    publisher.call("DELETE", f"{old}/{path}").expect(204)
    publisher.remove_page(path).expect(404)


@publish_check("C-WIKI-8", "C-WIKI-9", feature="modhub_wiki")
def _a_wiki_page_has_anchors_and_runs_nothing(run: Run) -> None:
    """Doubled headings are numbered."""
    publisher = wiki(run)
    path = f"{publisher.page}/shown"
    text = "# Title\n\n## One & Two!\n\n## One & Two!\n\n<script>evil()</script>\n\n[x](javascript:evil())\n"
    publisher.publish_page(path, text.encode()).expect(201)
    shown = run.service.call("GET", f"/Modhub/Wiki/{path}").expect(200).text
    require('id="one-two"' in shown and shown.count('id="one-two') == 2, "The headings have not the ids of C-WIKI-9.")
    require('href="#one-two"' in shown, "The page has no table of contents.")
    require("<script>evil" not in shown and 'href="javascript:' not in shown, "The page runs what its author wrote.")
    publisher.remove_page(path).expect(204)
    run.service.call("GET", f"/Modhub/Wiki/{path}").expect(404)


@publish_check("C-WIKI-5", feature="modhub_wiki")
def _a_removed_page_is_gone(run: Run) -> None:
    """A second time it is 404."""
    publisher = wiki(run)
    path = f"{publisher.page}/removed"
    publisher.publish_page(path, b"# modhub-verify").expect(201)
    publisher.remove_page(path).expect(204)
    publisher.remove_page(path).expect(404)
    run.service.call("GET", f"/Modhub/api/wiki/{path}").expect(404)
    require(publisher.page not in run.service.call("GET", "/Modhub/api/wiki").text, "A removed page is listed.")
