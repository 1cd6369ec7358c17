"""What features add for readers: app builds, download counts, tags, links, the wiki."""

import re
from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import described_answer, require_shape

_VERSION: Final = {"version": str, "name": str, "bytes": int, "uploadedAt": str, "url": str}
_BUILDS: Final = {
    "builds": [{"os": re.compile("[a-z0-9]+(?:-[a-z0-9]+)*"), **_VERSION, "versions": [_VERSION]}],
    "changelog": str,
}
_FIRST: Final = ("windows", "linux", "macos")


def read_builds(run: Run) -> dict[str, Any]:
    """The app: its builds and its changelog."""
    return run.service.read("/api/modhub/app")


def _builds(run: Run) -> list[dict[str, Any]]:
    builds: list[dict[str, Any]] = read_builds(run)["builds"]
    if not builds:
        raise Skipped("no build of the app is published")
    return builds


@check("C-APP-5", feature="modhub_builds")
def each_system_has_its_newest_build_and_all_versions(run: Run) -> None:
    """Newest first; the entry is that of the newest."""
    document = read_builds(run)
    require_shape("the app", _BUILDS, document)
    names = [build["os"] for build in document["builds"]]
    require_equal("the systems, each once", len(names), len(set(names)))
    for build in document["builds"]:
        newest = build["versions"][0]
        for field in ("version", "name", "bytes", "uploadedAt"):
            require_equal(f"{field} of the newest build for {build['os']}", newest[field], build[field])
        for newer, older in pairwise(version["uploadedAt"] for version in build["versions"]):
            require(newer >= older, f"the builds for {build['os']} are not newest first.")
        require_equal(f"url of {build['os']}", f"/Modhub/app/{build['os']}", build["url"])
        for version in build["versions"]:
            require(
                re.fullmatch(f"/Modhub/app/{build['os']}/[0-9]+", version["url"]), f"a build is at {version['url']}."
            )


@check("C-APP-6", feature="modhub_builds", added=True)
def systems_come_in_their_order(run: Run) -> None:
    """Windows, Linux, macOS, then the others by name."""
    names = [build["os"] for build in read_builds(run)["builds"]]
    rank = {name: place for place, name in enumerate(_FIRST)}
    require_equal("the order of systems", sorted(names, key=lambda name: (rank.get(name, 9), name)), names)


@check("C-APP-7", "C-PRO-1", feature="modhub_builds")
def the_newest_build_and_each_build_can_be_downloaded(run: Run) -> None:
    """Both addresses lead to the same bytes, as an attachment."""
    for build in _builds(run):
        newest, same = (run.service.head(entry["url"]).expect(200) for entry in (build, build["versions"][0]))
        require_equal(f"the size of {newest.call}", str(build["bytes"]), newest.header("Content-Length"))
        require_equal(f"ETag of {same.call}", newest.header("ETag"), same.header("ETag"))
        require(newest.header("Content-Disposition").startswith("attachment"), f"{newest.call}: no attachment.")
        run.service.get(f"{build['url']}/{UNKNOWN_ID}").expect(404)


@check("C-APP-7", feature="modhub_builds", added=True)
def a_build_is_kept_by_caches_and_the_newest_asked_for(run: Run) -> None:
    """An unknown system has none."""
    for name in ("unheard-of", "Windows", "changelog"):
        run.service.get(f"/Modhub/app/{name}").expect(404)
    for build in _builds(run):
        newest, same = (run.service.head(entry["url"]).expect(200) for entry in (build, build["versions"][0]))
        newest.expect_named("Cache-Control", "no-cache")
        same.expect_named("Cache-Control", "immutable")


@check("C-APP-9", feature="modhub_builds", added=True)
def the_changelog_is_plain_sections(run: Run) -> None:
    """One blank line between them, none around them, line ends as one character."""
    changelog = read_builds(run)["changelog"]
    require("\r" not in changelog, "the changelog has carriage returns.")
    require_equal("the changelog without outer blank lines", changelog.strip("\n"), changelog)


@check("C-DL-4", feature="modhub_downloads", added=True)
def downloads_are_counted_by_version(run: Run) -> None:
    """The total is their sum; 404 for what is not published."""
    for mod in run.mods[:3]:
        reply = run.service.get(f"/api/modhub/{mod['id']}/downloads")
        document = described_answer(run, "GET /api/modhub/{id}/downloads", reply)
        counts = [version["downloads"] for version in document["versions"]]
        require_equal("the total of downloads", sum(counts), document["total"])
        require(all(count >= 0 for count in counts), "a number of downloads is negative.")
    run.service.get(f"/api/modhub/{UNKNOWN_ID}/downloads").expect_error(404, "not_found")


@check("C-TAG-1", "C-TAG-2", feature="modhub_tags", added=True)
def tags_have_a_name_and_titles(run: Run) -> None:
    """By name; those of a mod are among them, five at most."""
    document = described_answer(run, "GET /api/modhub/tags", run.service.get("/api/modhub/tags"))
    names = [tag["name"] for tag in document["tags"]]
    require_shape("the names of tags", [re.compile("[a-z0-9-]{1,32}")], names)
    require_equal("the order of tags", sorted(set(names)), names)
    for mod in run.mods[:5]:
        tags = run.service.read(f"/api/modhub/{mod['id']}/tags")["tags"]
        require_equal(f"the order of tags of the mod {mod['id']}", sorted(set(tags)), tags)
        require(set(tags) <= set(names) and len(tags) <= 5, f"the mod {mod['id']} has the tags {tags}.")
    run.service.get(f"/api/modhub/{UNKNOWN_ID}/tags").expect_error(404, "not_found")


@check("C-PRF-1", "C-PRF-2", feature="modhub_profiles", added=True)
def links_of_a_mod_are_https_addresses(run: Run) -> None:
    """Each a string or null; 404 for what is not published."""
    for mod in run.mods[:5]:
        reply = run.service.get(f"/api/modhub/{mod['id']}/links")
        document = described_answer(run, "GET /api/modhub/{id}/links", reply)
        for name in ("source", "report", "community"):
            address = document[name] or "https://"
            is_right = address.startswith("https://") and address.isascii() and len(address) <= 200
            require(is_right, f"{name} is {address!r}.")
    run.service.get(f"/api/modhub/{UNKNOWN_ID}/links").expect_error(404, "not_found")


@check("C-WIKI-6", "C-PRO-1", feature="modhub_wiki", added=True)
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


@check("C-WIKI-7", feature="modhub_wiki", added=True)
def the_older_address_of_the_wiki_answers_the_same(run: Run) -> None:
    """The list, a page, and what is not there."""
    paths = ["", "/unheard-of/page"]
    paths += [f"/{page['path']}" for page in run.service.read("/Modhub/api/wiki")["pages"][:2]]
    for path in paths:
        newer, older = run.service.get(f"/Modhub/api/wiki{path}"), run.service.get(f"/api/modhub/wiki{path}")
        require_equal(f"the answer of {older.call}", (newer.status, newer.body), (older.status, older.body))


@check("C-WIKI-10", feature="modhub_wiki")
def the_wiki_has_its_contract(run: Run) -> None:
    reply = run.service.get("/api/modhub/doc/wiki").expect(200)
    require(reply.text.strip(), f"{reply.call}: it is empty.")
    require(
        run.options.interface_only or reply.media_type == "text/markdown",
        f"{reply.call}: the type is {reply.media_type}.",
    )


@check("C-WIKI-1", feature="modhub_wiki", added=True)
def paths_of_the_wiki_lead_nowhere_else(run: Run) -> None:
    """Dots, escapes and empty segments are no page."""
    for path in ("..", "%2e%2e/index", ".hidden", "a//b", "%00", "a" * 201):
        reply = run.service.get(f"/Modhub/api/wiki/{path}")
        require(reply.status in {400, 404}, f"{reply.call:.80}: came {reply.status}.")
