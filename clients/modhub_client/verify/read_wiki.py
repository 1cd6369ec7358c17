"""The wiki, for programs and for people."""

from modhub_client.verify.checks import check
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import Run
from modhub_client.verify.shapes import described_answer


@check("C-WIKI-6", "C-PRO-1", part="read", feature="modhub_wiki", added=True)
def the_wiki_lists_its_pages(run: Run) -> None:
    """By path, each with its address; a page is Markdown with an ``ETag``. The interface does not show it."""
    listed = described_answer(run, "GET /Modhub/api/wiki", run.service.get("/Modhub/api/wiki"))
    require_equal("count", len(listed["pages"]), listed["count"])
    paths = [page["path"] for page in listed["pages"]]
    require_equal("the order of pages", sorted(paths), paths)
    for page in listed["pages"][:3]:
        require_equal(f"url of {page['path']}", f"/Modhub/Wiki/{page['path']}", page["url"])
        reply = run.service.get(f"/Modhub/api/wiki/{page['path']}").expect(200)
        require_equal(f"the type of {reply.call}", "text/markdown", reply.media_type)
        run.service.get(f"/Modhub/api/wiki/{page['path']}", if_none_match=reply.header("ETag")).expect(304)
    run.service.get("/Modhub/api/wiki/unheard-of/page").expect_error(404)


@check("C-WIKI-7", part="read", feature="modhub_wiki", added=True)
def the_older_address_of_the_wiki_answers_the_same(run: Run) -> None:
    """The list, a page, and what is not there."""
    paths = ["", "/unheard-of/page"]
    paths += [f"/{page['path']}" for page in run.service.get("/Modhub/api/wiki").expect(200).document()["pages"][:2]]
    for path in paths:
        newer, older = run.service.get(f"/Modhub/api/wiki{path}"), run.service.get(f"/api/modhub/wiki{path}")
        require_equal(f"the answer of {older.call}", (newer.status, newer.body), (older.status, older.body))


@check("C-WIKI-10", part="read", feature="modhub_wiki")
def the_wiki_has_its_contract(run: Run) -> None:
    reply = run.service.get("/api/modhub/doc/wiki").expect(200)
    require(reply.text.strip(), f"{reply.call}: it is empty.")
    require(
        run.options.interface_only or reply.media_type == "text/markdown",
        f"{reply.call}: the type is {reply.media_type}.",
    )


@check("C-WIKI-1", part="read", feature="modhub_wiki", added=True)
def paths_of_the_wiki_lead_nowhere_else(run: Run) -> None:
    """Dots, escapes and empty segments are no page."""
    for path in ("..", "%2e%2e/index", ".hidden", "a//b", "%00", "a" * 201):
        reply = run.service.get(f"/Modhub/api/wiki/{path}")
        require(reply.status in {400, 404}, f"{reply.call:.80}: came {reply.status}.")
