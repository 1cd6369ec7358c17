"""Feeds."""

import xml.etree.ElementTree as ET
from typing import Any, Final
from urllib.parse import urlsplit

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Broken, Reply, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run

_ATOM: Final = "{http://www.w3.org/2005/Atom}"
_JSON_FEED: Final = "https://jsonfeed.org/version/1.1"


def read_xml(reply: Reply) -> ET.Element:
    """The document of a response. A document type is refused: no feed needs one, and entities could grow."""
    if b"<!DOCTYPE" in reply.body:
        raise Broken(f"{reply.call}: the document has a document type.")
    try:
        return ET.fromstring(reply.body)  # noqa: S314 - without a document type there are no entities
    except ET.ParseError as problem:
        raise Broken(f"{reply.call}: the document is no XML ({problem}).") from None


def _paths_of_feeds(run: Run) -> list[str]:
    """Each Atom feed; its JSON twin is at the same address with ``.json``."""
    paths = ["/Modhub/feed"]
    if run.listed.document().get("mods"):
        paths.append(f"{run.a_mod['url']}/feed")
    if "modhub_builds" in run.features:
        paths.append("/Modhub/App/feed")
    return paths


@check("C-PAGE-17", added=True)
def every_atom_feed_has_a_json_twin(run: Run) -> None:
    """With as many entries of the same titles, and what readers need: ids that are there once, times, addresses."""
    for path in _paths_of_feeds(run):
        atom, twin = _read_atom(run, path), _read_json_feed(run, f"{path}.json")
        entries = atom.findall(f"{_ATOM}entry")
        # Spaces make no difference in XML.
        titles = [(entry.findtext(f"{_ATOM}title") or "").split() for entry in entries]
        require_equal(f"the titles of {path}.json", titles, [item["title"].split() for item in twin["items"]])
        require_equal(f"version of {path}.json", _JSON_FEED, twin["version"])
        require(urlsplit(twin["feed_url"]).scheme.startswith("http"), f"{path}.json: feed_url is {twin['feed_url']!r}.")
        ids = [entry.findtext(f"{_ATOM}id") for entry in entries]
        require_equal(f"the ids of {path}, each once", len(ids), len(set(ids)))
        for element in (atom, *entries):
            for name in ("id", "title", "updated"):
                require(element.findtext(f"{_ATOM}{name}"), f"{path}: an entry has no {name}.")


def _read_atom(run: Run, path: str) -> ET.Element:
    reply = run.service.get(path).expect(200)
    require_equal(f"the type of {path}", "application/atom+xml", reply.media_type)
    return read_xml(reply)


def _read_json_feed(run: Run, path: str) -> dict[str, Any]:
    reply = run.service.get(path).expect(200)
    require_equal(f"the type of {path}", "application/feed+json", reply.media_type)
    return reply.document()


@check("C-PAGE-40", added=True)
def a_feed_has_at_most_five_versions_of_a_mod(run: Run) -> None:
    """And as many entries as ``size`` says."""
    twin = _read_json_feed(run, "/Modhub/feed.json?size=30")
    require(len(twin["items"]) <= 30, f"/Modhub/feed.json?size=30 has {len(twin['items'])} items.")
    pages = [urlsplit(item["url"]).path for item in twin["items"]]
    many = {page for page in pages if pages.count(page) > 5}
    require(not many, f"/Modhub/feed.json has more than five versions of {sorted(many)}.")


@check("C-PAGE-18", added=True)
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


@check("C-FOL-14", feature="modhub_following", added=True)
def a_private_feed_needs_its_token(run: Run) -> None:
    """With another one it is a 404 that nobody keeps."""
    for path in ("/Modhub/following/feed?token=nonsense", "/Modhub/following/feed.json?token=nonsense"):
        require("no-store" in run.service.get(path).expect(404).names("Cache-Control"), f"{path}: may be kept.")


@check("C-PAGE-17", added=True)
def nobody_has_no_feed(run: Run) -> None:
    """The feed of an author who is unknown is a 404."""
    for path in (f"/Modhub/by/{UNKNOWN_ID}/feed", f"/Modhub/by/{UNKNOWN_ID}/feed.json"):
        run.service.get(path).expect(404)
