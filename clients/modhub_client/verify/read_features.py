"""What features add: app builds, download counts, tags, links, the wiki, advisories; and reports that are refused.

A report that is refused for one thing alone would be one if the service was broken. So these have no text either.
"""

import base64
import re
from functools import partial
from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import JSON_TYPE, Broken, Skipped, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import (
    NUMBER,
    TEXT,
    TIME,
    described_answer,
    list_of,
    object_of,
    or_null,
    require_shape,
    text_like,
)

_VERSION: Final = {"version": TEXT, "name": TEXT, "bytes": NUMBER, "uploadedAt": TEXT, "url": TEXT}
_BUILD: Final = object_of(os=text_like("[a-z0-9]+(?:-[a-z0-9]+)*"), **_VERSION, versions=list_of(object_of(**_VERSION)))
_FIRST_SYSTEMS: Final = ("windows", "linux", "macos")


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
    require_shape("the app", object_of(builds=list_of(_BUILD), changelog=TEXT), document)
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


@check("C-APP-5", feature="modhub_builds", added=True)
def systems_come_in_their_order(run: Run) -> None:
    """Windows, Linux, macOS, then the others by name."""
    names = [build["os"] for build in read_builds(run)["builds"]]
    rank = {name: place for place, name in enumerate(_FIRST_SYSTEMS)}
    require_equal("the order of systems", sorted(names, key=lambda name: (rank.get(name, 9), name)), names)


@check("C-APP-7", "C-PRO-1", feature="modhub_builds")
def the_newest_build_and_each_build_can_be_downloaded(run: Run) -> None:
    """Both addresses lead to the same bytes, as an attachment; the newest is asked for again. Others have none."""
    for name in ("unheard-of", "Windows", "changelog"):
        run.service.get(f"/Modhub/app/{name}").expect(404)
    for build in _builds(run):
        newest, same = (run.service.head(entry["url"]).expect(200) for entry in (build, build["versions"][0]))
        require_equal(f"the size of {newest.call}", str(build["bytes"]), newest.header("Content-Length"))
        require_equal(f"ETag of {same.call}", newest.header("ETag"), same.header("ETag"))
        require(newest.header("Content-Disposition").startswith("attachment"), f"{newest.call}: no attachment.")
        run.service.get(f"{build['url']}/{UNKNOWN_ID}").expect(404)
        if not run.interface_only:
            newest.expect_named("Cache-Control", "no-cache")
            same.expect_named("Cache-Control", "immutable")


@check("C-APP-8", feature="modhub_builds", added=True)
def the_changelog_is_plain_sections(run: Run) -> None:
    """One blank line between them, none around them, line ends as one character."""
    changelog = read_builds(run)["changelog"]
    require("\r" not in changelog, "the changelog has carriage returns.")
    require_equal("the changelog without outer blank lines", changelog.strip("\n"), changelog)


@check("C-DL-4", feature="modhub_downloads", added=True)
def downloads_are_counted_by_version(run: Run) -> None:
    """The total is their sum."""
    for mod in run.mods[:3]:
        reply = run.service.get(f"/api/modhub/{mod['id']}/downloads")
        document = described_answer(run, "GET /api/modhub/{id}/downloads", reply)
        counts = [version["downloads"] for version in document["versions"]]
        require_equal("the total of downloads", sum(counts), document["total"])
        require(all(count >= 0 for count in counts), "a number of downloads is negative.")


@check("C-TAG-1", "C-TAG-2", feature="modhub_tags", added=True)
def tags_have_a_name_and_titles(run: Run) -> None:
    """By name; those of a mod are among them, five at most."""
    document = described_answer(run, "GET /api/modhub/tags", run.service.get("/api/modhub/tags"))
    names = [tag["name"] for tag in document["tags"]]
    require_shape("the names of tags", list_of(text_like("[a-z0-9-]{1,32}")), names)
    require_equal("the order of tags", sorted(set(names)), names)
    for mod in run.mods[:5]:
        tags = run.service.read(f"/api/modhub/{mod['id']}/tags")["tags"]
        require_equal(f"the order of tags of the mod {mod['id']}", sorted(set(tags)), tags)
        require(set(tags) <= set(names) and len(tags) <= 5, f"the mod {mod['id']} has the tags {tags}.")


@check("C-PRF-1", "C-PRF-2", feature="modhub_profiles", added=True)
def links_of_a_mod_are_https_addresses(run: Run) -> None:
    """Each a string or null."""
    for mod in run.mods[:5]:
        reply = run.service.get(f"/api/modhub/{mod['id']}/links")
        document = described_answer(run, "GET /api/modhub/{id}/links", reply)
        for name in ("source", "report", "community"):
            address = document[name] or "https://"
            is_right = address.startswith("https://") and address.isascii() and len(address) <= 200
            require(is_right, f"{name} is {address!r}.")


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


@check("C-WIKI-10", feature="modhub_wiki")
def the_wiki_has_its_contract(run: Run) -> None:
    reply = run.service.get("/api/modhub/doc/wiki").expect(200)
    require(reply.text.strip(), f"{reply.call}: it is empty.")
    require(
        run.interface_only or reply.media_type == "text/markdown",
        f"{reply.call}: the type is {reply.media_type}.",
    )


moderation_check = partial(check, feature="modhub_moderation", added=True)
_ADVISORIES: Final = "/api/modhub/advisories"
_ADVISORY_PAGE: Final = "/Modhub/advisories"
_ADVISORY_TEXT: Final = text_like("(?s:.{1,500})")
_ADVISORY: Final = object_of(
    sha256=text_like("[0-9a-f]{64}"),
    kind=text_like("malware|vulnerable|illegal|other"),
    reason=_ADVISORY_TEXT,
    advice=_ADVISORY_TEXT,
    since=TIME,
    withdrawnAt=or_null(TIME),
)
_NO_PREFIXES: Final = ("abcd", "abcdef", "abcdg", "a" * 64, "+1234", "12%2034", "%D9%A1" * 5)
"""Not five hexadecimal digits: too few, too many, others, those of another script."""
_SIGNATURE_BYTES: Final = 64
_NEWEST_ADVISORIES: Final = 100


def read_export(run: Run) -> dict[str, Any]:
    """All advisories."""
    return run.service.read(_ADVISORIES)


def _all(run: Run) -> list[dict[str, Any]]:
    advisories: list[dict[str, Any]] = read_export(run)["advisories"]
    if not advisories:
        raise Skipped("there is no advisory")
    return advisories


@moderation_check("C-ADV-1")
def an_advisory_says_what_is_known_of_one_file(run: Run) -> None:
    """Its kind, a reason and an advice of 1 to 500 characters, since when, and whether it was withdrawn."""
    require_shape("the advisories", list_of(_ADVISORY), _all(run))


@moderation_check("C-ADV-2")
def advisories_are_found_by_the_first_five_digits(run: Run) -> None:
    """All that begin so, by digest, each file once; capitals or not, none is an empty list, and all else is 404."""
    everything = read_export(run)["advisories"]
    digests = [advisory["sha256"] for advisory in everything]
    require_equal("the order of the advisories", sorted(set(digests)), digests)
    known = {digest[:5] for digest in digests}
    free = next(prefix for prefix in map("{:05x}".format, range(0xABCDE, 1 << 20)) if prefix not in known)
    for prefix in (*sorted(known)[:20], free):
        expected = [advisory for advisory in everything if advisory["sha256"].startswith(prefix)]
        for asked in (prefix, prefix.upper()):
            require_equal(
                f"the advisories of {asked}", expected, run.service.read(f"{_ADVISORIES}/{asked}")["advisories"]
            )
    for prefix in _NO_PREFIXES:
        run.service.get(f"{_ADVISORIES}/{prefix}").expect_error(404, "not_found")


@moderation_check("C-ADV-4")
def the_export_of_advisories_says_when_it_changed(run: Run) -> None:
    """The last of all times, null without any; the signature is 64 bytes in base64, or null without a key."""
    document = read_export(run)
    times = [advisory["withdrawnAt"] or advisory["since"] for advisory in document["advisories"]]
    require_equal("changedAt of the advisories", max(times, default=None), document["changedAt"])
    signature = document["signature"]
    if signature is not None:
        try:
            size = len(base64.b64decode(signature, validate=True))
        except ValueError:
            raise Broken(f"the signature of the advisories is no base64 but {signature!r:.100}.") from None
        require_equal("the bytes of the signature", _SIGNATURE_BYTES, size)


@moderation_check("C-ADV-5")
def the_newest_advisories_have_feeds(run: Run) -> None:
    """The hundred that were made or withdrawn last, in both."""
    advisories = read_export(run)["advisories"]
    newest = sorted(advisories, key=lambda advisory: advisory["withdrawnAt"] or advisory["since"], reverse=True)
    atom = run.service.get(f"{_ADVISORY_PAGE}/feed").expect(200)
    require_equal(f"the type of {_ADVISORY_PAGE}/feed", "application/atom+xml", atom.media_type)
    items = run.service.read(f"{_ADVISORY_PAGE}/feed.json")["items"]
    require_equal(
        f"the number of items of {_ADVISORY_PAGE}/feed.json", min(len(newest), _NEWEST_ADVISORIES), len(items)
    )
    for advisory in newest[:_NEWEST_ADVISORIES]:
        digest = advisory["sha256"]
        require(digest in atom.text, f"{_ADVISORY_PAGE}/feed: {digest} is missing.")
        require(any(digest in item["id"] for item in items), f"{_ADVISORY_PAGE}/feed.json: {digest} is missing.")


_REPORTS_OF_NOTHING: Final = (f"/api/modhub/{UNKNOWN_ID}/reports", f"/api/modhub/authors/{UNKNOWN_ID}/reports")
_WHOLE_REPORT: Final = {
    "ground": "other",
    "text": "modhub-verify tries whether an absent mod can be reported.",
    "goodFaith": True,
    "name": "modhub-verify",
    "email": "modhub-verify@example.org",
}
_EMPTY_REPORTS: Final[tuple[Any, ...]] = (
    {},
    [],
    {"ground": "other", "goodFaith": True},
    {"ground": "unheard-of", "text": "", "goodFaith": False},
    {"ground": "other", "text": 1, "goodFaith": "yes", "assetId": UNKNOWN_ID},
)
"""Reports without a text, and without name and address."""


@moderation_check("C-NTC-2")
def what_is_absent_cannot_be_reported(run: Run) -> None:
    """404 whatever the body is."""
    for path in _REPORTS_OF_NOTHING:
        for value in (_WHOLE_REPORT, *_EMPTY_REPORTS):
            run.service.call("POST", path, value).expect_error(404, "not_found")
        run.service.call("POST", path, body=b"[not json", headers=JSON_TYPE).expect_error(404)


@moderation_check("C-NTC-3")
def a_report_that_says_nothing_is_400(run: Run) -> None:
    for value in _EMPTY_REPORTS:
        refused = run.service.call("POST", f"{run.mod_path}/reports", value).expect_error(400)
        require(refused.get("message"), f"{run.mod_path}/reports: the refusal has no sentence.")


@moderation_check("C-NTC-4")
def a_bad_token_of_a_report_is_401(run: Run) -> None:
    """Before the report is read; an absent mod is no other than one that is there."""
    for path in (f"{run.mod_path}/reports", *_REPORTS_OF_NOTHING):
        run.service.call("POST", path, {}, headers={"Authorization": "Bearer nonsense"}).expect(401)
