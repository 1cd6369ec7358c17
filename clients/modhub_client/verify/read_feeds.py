"""Feeds, the sitemap and what robots are told."""

import re
import xml.etree.ElementTree as ET
from typing import Any, Final
from urllib.parse import urlsplit

from modhub_client.verify.checks import check
from modhub_client.verify.outcomes import Broken, Skipped
from modhub_client.verify.replies import Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_SITEMAP: Final = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_JSON_FEED: Final = "https://jsonfeed.org/version/1.1"


def read_xml(reply: Reply) -> ET.Element:
    """The document of a response. A document type is refused: no feed needs one, and entities could grow."""
    if b"<!DOCTYPE" in reply.body:
        raise Broken(f"{reply.call}: the document has a document type.")
    try:
        return ET.fromstring(reply.body)  # noqa: S314 - without a document type there are no entities
    except ET.ParseError as problem:
        raise Broken(f"{reply.call}: the document is no XML ({problem}).") from None


def find_author(run: Run) -> str:
    """The address of the author of `Run.a_mod`; empty where pages name no authors."""
    author = re.search(r'href="(/Modhub/by/[0-9]+)"', run.service.get(run.a_mod["url"]).expect(200).text)
    return author[1] if author else ""


def _paths_of_feeds(run: Run) -> list[str]:
    """Each Atom feed; its JSON twin is at the same address with ``.json``."""
    paths = ["/Modhub/feed"]
    if run.listed.document().get("mods"):
        paths.append(f"{run.a_mod['url']}/feed")
    if "modhub_builds" in run.features:
        paths.append("/Modhub/App/feed")
    return paths


@check("C-PAGE-17", part="read", added=True)
def every_atom_feed_has_a_json_twin(run: Run) -> None:
    """With as many entries of the same titles."""
    for path in _paths_of_feeds(run):
        atom, twin = _read_atom(run, path), _read_json_feed(run, f"{path}.json")
        titles = [entry.findtext(f"{_ATOM}title") or "" for entry in atom.findall(f"{_ATOM}entry")]
        require_equal(
            f"the titles of {path}.json",
            [_spaced(title) for title in titles],
            [_spaced(item["title"]) for item in twin["items"]],
        )


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _read_atom(run: Run, path: str) -> ET.Element:
    reply = run.service.get(path).expect(200)
    require_equal(f"the type of {path}", "application/atom+xml", reply.media_type)
    return read_xml(reply)


def _read_json_feed(run: Run, path: str) -> dict[str, Any]:
    reply = run.service.get(path).expect(200)
    require_equal(f"the type of {path}", "application/feed+json", reply.media_type)
    return reply.document()


@check("C-PAGE-17", part="read", added=True)
def feeds_have_what_readers_need(run: Run) -> None:
    """Ids that are there once, titles, times, absolute addresses."""
    for path in _paths_of_feeds(run):
        atom, twin = _read_atom(run, path), _read_json_feed(run, f"{path}.json")
        require_equal(f"version of {path}.json", _JSON_FEED, twin["version"])
        require(urlsplit(twin["feed_url"]).scheme.startswith("http"), f"{path}.json: feed_url is {twin['feed_url']!r}.")
        ids = [entry.findtext(f"{_ATOM}id") for entry in atom.findall(f"{_ATOM}entry")]
        require_equal(f"the ids of {path}, each once", len(ids), len(set(ids)))
        for element in (atom, *atom.findall(f"{_ATOM}entry")):
            for name in ("id", "title", "updated"):
                require(element.findtext(f"{_ATOM}{name}"), f"{path}: an entry has no {name}.")


@check("C-PAGE-40", part="read", added=True)
def a_feed_has_at_most_five_versions_of_a_mod(run: Run) -> None:
    """And as many entries as ``size`` says."""
    twin = _read_json_feed(run, "/Modhub/feed.json?size=30")
    require(len(twin["items"]) <= 30, f"/Modhub/feed.json?size=30 has {len(twin['items'])} items.")
    pages = [urlsplit(item["url"]).path for item in twin["items"]]
    many = {page for page in pages if pages.count(page) > 5}
    require(not many, f"/Modhub/feed.json has more than five versions of {sorted(many)}.")


@check("C-PAGE-18", part="read", added=True)
def feeds_tell_what_was_deleted(run: Run) -> None:
    """JSON in ``_modhub.deleted``, Atom as ``at:deleted-entry``; the same GUIDs, none of a public mod."""
    twin = _read_json_feed(run, "/Modhub/feed.json")
    deleted = [entry["guid"].lower() for entry in twin.get("_modhub", {}).get("deleted", [])]
    entries = _read_atom(run, "/Modhub/feed").findall("{http://purl.org/atompub/tombstones/1.0}deleted-entry")
    require_equal(
        "the deleted mods of the Atom feed",
        [f"urn:uuid:{guid}" for guid in deleted],
        [entry.get("ref", "").lower() for entry in entries],
    )
    public = {mod["guid"].lower() for mod in run.listed.document()["mods"]}
    require(not public & set(deleted), "a mod that is public is among the deleted ones.")


@check("C-PAGE-39", part="read", added=True)
def an_authors_feed_has_their_mods_only(run: Run) -> None:
    for path in (f"/Modhub/by/{UNKNOWN_ID}/feed", f"/Modhub/by/{UNKNOWN_ID}/feed.json"):
        run.service.get(path).expect(404)
    author = find_author(run)
    if not author:
        raise Skipped("the page of the mod names no author")
    _read_atom(run, f"{author}/feed")
    listed = run.service.get(author).expect(200).text
    for item in _read_json_feed(run, f"{author}/feed.json")["items"]:
        path = urlsplit(item["url"]).path
        require(f'"{path}"' in listed or "page=2" in listed, f"{author}/feed.json has {path}, which its page has not.")


@check("C-PAGE-60", part="read", added=True)
def robots_are_told_where_not_to_go(run: Run) -> None:
    """And where the sitemap is."""
    reply = run.service.get("/robots.txt").expect(200)
    require_equal("the type of /robots.txt", "text/plain", reply.media_type)
    require(re.search(r"(?m)^Disallow: .*everything\.zip", reply.text), "/robots.txt: archives are not disallowed.")
    require(re.search(r"(?m)^Sitemap: https?://\S+/sitemap\.xml", reply.text), "/robots.txt: no sitemap.")


@check("C-PAGE-38", part="read", added=True)
def the_sitemap_has_public_addresses(run: Run) -> None:
    """Of mods and authors, each once; in parts if they are many."""
    root = read_xml(run.service.get("/sitemap.xml").expect(200))
    places = [place.text or "" for place in root.iter(f"{_SITEMAP}loc")]
    require(all(place.startswith(("https://", "http://")) for place in places), "the sitemap has relative addresses.")
    if root.tag == f"{_SITEMAP}sitemapindex":
        part = urlsplit(places[0])
        require(
            read_xml(run.service.get(f"{part.path}?{part.query}").expect(200)).tag == f"{_SITEMAP}urlset",
            "a part is no urlset.",
        )
        return
    paths = [urlsplit(place).path for place in places]
    require_equal("the addresses of the sitemap, each once", len(paths), len(set(paths)))
    for mod in run.mods[:10]:
        require(mod["url"] in paths, f"the sitemap has not {mod['url']}.")
    author = find_author(run)
    require(not author or author in paths, f"the sitemap has not {author}.")
    private = [path for path in paths if path.startswith(("/Modhub/mine", "/Modhub/account", "/api/auth"))]
    require(not private, f"the sitemap has {private[:3]}.")
