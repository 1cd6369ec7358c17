"""Texts of owners: normalised, within their limits, and HTML of one allowlist; and changelogs, which have the most."""

import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Final

from modhub_client.verify.checks import check
from modhub_client.verify.outcomes import Skipped
from modhub_client.verify.read_mods import label_of_mod
from modhub_client.verify.replies import require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import NOTE_SHAPE, TIME_SHAPE, require_shape

_TAG_NAMES: Final = """
p br hr h2 h3 h4 strong b em i u s del ins sub sup small blockquote ul ol li dl dt dd code pre kbd samp
table thead tbody tr th td a img span
"""
_ALLOWED_TAGS: Final = frozenset(_TAG_NAMES.split())
_ALLOWED_ATTRIBUTES: Final = {
    "a": frozenset({"href", "title", "rel"}),
    "img": frozenset({"src", "alt", "width", "height"}),
    "th": frozenset({"colspan", "rowspan"}),
    "td": frozenset({"colspan", "rowspan"}),
}


class _TagReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))


def _tags_of(html: str) -> list[tuple[str, dict[str, str]]]:
    """The tags of an HTML text with their attributes, in order."""
    reader = _TagReader()
    reader.feed(html)
    reader.close()
    return reader.tags


def _tags_of_descriptions(run: Run) -> Iterator[tuple[str, str, dict[str, str]]]:
    for mod in run.mods:
        for tag, attributes in _tags_of(mod["description"]):
            yield f"the description of {label_of_mod(mod)}", tag, attributes


@check("C-TXT-1", part="read", added=True)
def text_is_normalised_and_stripped(run: Run) -> None:
    """NFC, no control characters, no space at either end."""
    for mod in run.mods:
        for text in (mod["title"], mod["version"], *mod["games"]):
            require_equal(f"a text of {label_of_mod(mod)}", unicodedata.normalize("NFC", text).strip(), text)
            require(
                not any(unicodedata.category(character) == "Cc" for character in text),
                f"{label_of_mod(mod)}: {text!r} has controls.",
            )
        controls = [char for char in mod["description"] if unicodedata.category(char) == "Cc" and char not in "\n\t"]
        require(not controls, f"{label_of_mod(mod)}: the description has {controls!r}.")


@check("C-TXT-9", "C-TXT-12", part="read", added=True)
def descriptions_have_allowed_tags_only(run: Run) -> None:
    """No script, no style, nothing that is not in the list."""
    for subject, tag, _ in _tags_of_descriptions(run):
        require(tag in _ALLOWED_TAGS, f"{subject} has <{tag}>.")


@check("C-TXT-10", part="read", added=True)
def descriptions_have_allowed_attributes_only(run: Run) -> None:
    """Links to http, https and mailto, images of this service."""
    for subject, tag, attributes in _tags_of_descriptions(run):
        odd = attributes.keys() - _ALLOWED_ATTRIBUTES.get(tag, frozenset())
        require(not odd, f"{subject}: <{tag}> has {sorted(odd)}.")
        if tag == "a":
            scheme = attributes.get("href", "https:").partition(":")[0].lower()
            require(scheme in {"http", "https", "mailto"}, f"{subject} links {attributes['href']!r:.80}.")
        if tag == "img":
            number = attributes.get("src", "").removeprefix("/Modhub/file/")
            require(number.isdigit(), f"{subject} shows {attributes.get('src')!r:.80}.")


@check("C-TXT-11", part="read", added=True)
def links_of_owners_are_not_followed(run: Run) -> None:
    """Each has ``rel="nofollow noopener ugc"``."""
    links = [
        (subject, attributes)
        for subject, tag, attributes in _tags_of_descriptions(run)
        if tag == "a" and "href" in attributes
    ]
    if not links:
        raise Skipped("no description has a link")
    for subject, link in links:
        require_equal(f"rel of a link of {subject}", {"nofollow", "noopener", "ugc"}, set(link.get("rel", "").split()))


@check("C-READ-8", "C-NOTE-1", part="read")
def a_changelog_has_its_entries_newest_first(run: Run) -> None:
    """``{count, notes}``, each entry with all its fields."""
    for mod in run.mods[:5]:
        changelog = run.service.get(f"/api/modhub/{mod['id']}/changelog").expect(200).document()
        require_shape("the changelog", {"count": int, "notes": [NOTE_SHAPE]}, changelog)
        require_equal("count", len(changelog["notes"]), changelog["count"])
        for newer, older in pairwise(note["createdAt"] for note in changelog["notes"]):
            require(newer >= older, f"the changelog of {label_of_mod(mod)} is not newest first.")


@check("C-NOTE-1", "C-NOTE-3", part="read", added=True)
def entries_keep_their_limits(run: Run) -> None:
    """A text is HTML of the same list, at most 4000 characters; an entry that was edited is not automatic."""
    for mod in run.mods[:5]:
        for note in run.service.get(f"/api/modhub/{mod['id']}/changelog").expect(200).document()["notes"]:
            require_shape("an entry", {"createdAt": TIME_SHAPE, "editedAt": (TIME_SHAPE, None)}, note)
            require(len(note["text"]) <= 4000, f"an entry of {label_of_mod(mod)} has {len(note['text'])} characters.")
            require(len(note["title"] or "") <= 120, f"the title of an entry of {label_of_mod(mod)} is too long.")
            require(
                note["editedAt"] is None or not note["automatic"],
                f"an edited entry of {label_of_mod(mod)} is automatic.",
            )
            odd = {tag for tag, _ in _tags_of(note["text"])} - _ALLOWED_TAGS
            require(not odd, f"an entry of {label_of_mod(mod)} has {sorted(odd)}.")


@check("C-READ-8", part="read")
def the_changelog_of_an_unknown_mod_is_404(run: Run) -> None:
    """As the mod itself."""
    run.service.get(f"/api/modhub/{UNKNOWN_ID}/changelog").expect_error(404)
