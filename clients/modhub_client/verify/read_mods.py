"""The fields of mods and of changelogs, as far as published content shows them: shapes, limits, allowed HTML."""

import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, Final

from modhub_client.verify.checks import check
from modhub_client.verify.replies import Skipped, require, require_equal
from modhub_client.verify.run import UNKNOWN_ID, Run
from modhub_client.verify.shapes import MOD_SHAPE, NOTE_SHAPE, TIME_SHAPE, described_answer, require_shape

_OVERRIDES: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_KINDS: Final = ["code", "css", "image"]
_FIELDS_OF_FEATURES: Final = {
    "modhub_auth": "author",
    "modhub_downloads": "downloads",
    "modhub_tags": "tags",
    "modhub_profiles": "links",
}
"""What a feature adds to the details of a mod."""


def label_of_mod(mod: dict[str, Any]) -> str:
    """How sentences call a mod."""
    return f"the mod {mod['id']}"


@check("C-MOD-1")
def every_call_gives_a_mod_its_whole_shape(run: Run) -> None:
    """Lists, the single read, and each entry of ``install``."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), MOD_SHAPE, mod)
    for mod in run.mods[:3]:
        single = run.service.read(f"/api/modhub/{mod['id']}")
        require_shape("the single read", {**MOD_SHAPE, "install": [MOD_SHAPE], "missing": [str]}, single)


@check("C-MOD-2")
def ids_and_guids_belong_to_one_mod(run: Run) -> None:
    """None occurs twice in a list."""
    for field in ("id", "guid"):
        values = [str(mod[field]).lower() for mod in run.mods]
        require_equal(f"the number of different {field}s", len(values), len(set(values)))


@check("C-MOD-3", "C-MOD-4", "C-UP-11")
def texts_and_files_keep_their_limits(run: Run) -> None:
    """Titles of 1 to 120 characters, 8000 of a description; 64 MB of code, 256 KB of css, 2 MB an image, 10 MB all."""
    limits = {"code": 64 * 1024 * 1024, "css": 256 * 1024, "image": 2 * 1024 * 1024}
    for mod in run.mods:
        label, title, description = label_of_mod(mod), mod["title"], mod["description"]
        require(0 < len(title) <= 120, f"{label}: the title has {len(title)} characters.")
        require(len(description) <= 8000, f"{label}: the description has {len(description)} characters.")
        for asset in mod["assets"]:
            require(asset["bytes"] <= limits[asset["kind"]], f"{label}: {asset['kind']} has {asset['bytes']} bytes.")
        images = sum(asset["bytes"] for asset in mod["assets"] if asset["kind"] == "image")
        require(images <= 10 * 1024 * 1024, f"{label}: all images have {images} bytes.")


@check("C-MOD-6", "C-MOD-7")
def games_are_at_most_twenty_names(run: Run) -> None:
    """Of 1 to 120 characters; each once, whatever its capitals and outer spaces."""
    for mod in run.mods:
        games, label = mod["games"], label_of_mod(mod)
        require(len(games) <= 20, f"{label} has {len(games)} games.")
        require(all(0 < len(game) <= 120 for game in games), f"{label}: a game's name is empty or too long.")
        names = [game.strip().casefold() for game in games]
        require_equal(f"the games of {label}, each once", list(dict.fromkeys(names)), names)


@check("C-MOD-8", "C-MOD-9", "C-MOD-10")
def required_and_conflicting_mods_are_guids(run: Run) -> None:
    """At most 50 in a list, in the form 8-4-4-4-12, each once whatever its capitals, never its own nor one in both."""
    for mod in run.mods:
        lists = [[guid.lower() for guid in mod[field]] for field in ("requires", "conflictsWith")]
        require_shape(
            f"the lists of {label_of_mod(mod)}",
            {"requires": [MOD_SHAPE["guid"]], "conflictsWith": [MOD_SHAPE["guid"]]},
            mod,
        )
        for guids in lists:
            require(len(guids) <= 50, f"{label_of_mod(mod)} lists {len(guids)} GUIDs.")
            require_equal(f"the GUIDs of {label_of_mod(mod)}, each once", len(set(guids)), len(guids))
            require(mod["guid"].lower() not in guids, f"{label_of_mod(mod)} lists itself.")
        require(not set(lists[0]) & set(lists[1]), f"{label_of_mod(mod)} requires a mod that it conflicts with.")


@check("C-MOD-11", "C-TXT-5")
def the_address_of_a_mod_is_its_page(run: Run) -> None:
    """Relative to the service."""
    for mod in run.mods:
        require_equal(f"url of {label_of_mod(mod)}", f"/Modhub/{mod['id']}", mod["url"])


@check("C-MOD-12", "C-TXT-5", added=True)
def files_come_as_code_css_images(run: Run) -> None:
    """At most one code and one css; each at an address of its own."""
    for mod in run.mods:
        kinds = [asset["kind"] for asset in mod["assets"]]
        require_equal(f"the order of files of {label_of_mod(mod)}", sorted(kinds, key=_KINDS.index), kinds)
        require(kinds.count("code") <= 1 >= kinds.count("css"), f"{label_of_mod(mod)} has {kinds}.")
        for asset in mod["assets"]:
            number = asset["url"].removeprefix("/Modhub/file/")
            require(number.isdigit(), f"{label_of_mod(mod)}: a file is at {asset['url']}.")
            require(asset["bytes"] > 0, f"{label_of_mod(mod)}: the file {asset['name']!r} is empty.")


@check("C-OWN-8")
def every_published_mod_has_a_code_file(run: Run) -> None:
    """Without one a mod cannot be published."""
    for mod in run.mods:
        require(any(asset["kind"] == "code" for asset in mod["assets"]), f"{label_of_mod(mod)} has no code file.")


@check("C-UP-7", "C-UP-8", added=True)
def names_and_versions_keep_their_limits(run: Run) -> None:
    """A name is no path and has at most 255 characters, a version at most 64."""
    for mod in run.mods:
        require(len(mod["version"]) <= 64, f"{label_of_mod(mod)}: the version has {len(mod['version'])} characters.")
        for asset in mod["assets"]:
            name = asset["name"]
            require(
                0 < len(name) <= 255 and not set(name) & {"/", "\\"},
                f"{label_of_mod(mod)}: a file is called {name!r}.",
            )


@check("C-TXT-4", added=True)
def times_have_microseconds_and_are_utc(run: Run) -> None:
    """And no mod changed before it was created."""
    for mod in run.mods:
        require_shape(label_of_mod(mod), {"createdAt": TIME_SHAPE, "updatedAt": TIME_SHAPE}, mod)
        require(mod["createdAt"] <= mod["updatedAt"], f"{label_of_mod(mod)} changed before it was created.")


@check("C-TXT-6", added=True)
def what_is_no_plain_number_is_an_unknown_id(run: Run) -> None:
    """Leading zeros, signs and other digits lead nowhere."""
    mod_id = run.mods[0]["id"]
    for name in (
        f"0{mod_id}",
        f"+{mod_id}",
        f"-{mod_id}",
        f"{mod_id}.0",
        f"{mod_id}%20",
        hex(mod_id),
        f"{mod_id}e0",
        "%D9%A1",
    ):
        run.service.get(f"/api/modhub/{name}").expect_error(404, "not_found")
        run.service.get(f"/Modhub/{name}").expect(404)
    for name in ("00", "one"):
        run.service.get(f"/Modhub/file/{name}").expect(404)


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


@check("C-TXT-1", "C-TXT-2", added=True)
def text_is_normalised_and_stripped(run: Run) -> None:
    """NFC, no control characters, no space at either end; a title has no override of the writing direction either."""
    for mod in run.mods:
        label = label_of_mod(mod)
        for text in (mod["title"], mod["version"], *mod["games"]):
            require_equal(f"a text of {label}", unicodedata.normalize("NFC", text).strip(), text)
            require(not _controls_in(text), f"{label}: {text!r} has controls.")
        odd = [character for character in mod["title"] if character in _OVERRIDES]
        require(not odd, f"{label}: the title has {odd!r}.")
        controls = _controls_in(mod["description"]) - {"\n", "\t"}
        require(not controls, f"{label}: the description has {controls!r}.")


def _controls_in(text: str) -> set[str]:
    return {character for character in text if unicodedata.category(character) == "Cc"}


@check("C-TXT-9", "C-TXT-10", "C-TXT-12", added=True)
def descriptions_have_allowed_tags_only(run: Run) -> None:
    """And attributes: links to http, https and mailto, images of this service."""
    for subject, tag, attributes in _tags_of_descriptions(run):
        require(tag in _ALLOWED_TAGS, f"{subject} has <{tag}>.")
        odd = attributes.keys() - _ALLOWED_ATTRIBUTES.get(tag, frozenset())
        require(not odd, f"{subject}: <{tag}> has {sorted(odd)}.")
        if tag == "a":
            scheme = attributes.get("href", "https:").partition(":")[0].lower()
            require(scheme in {"http", "https", "mailto"}, f"{subject} links {attributes['href']!r:.80}.")
        if tag == "img":
            number = attributes.get("src", "").removeprefix("/Modhub/file/")
            require(number.isdigit(), f"{subject} shows {attributes.get('src')!r:.80}.")


@check("C-TXT-11", added=True)
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


@check("C-READ-8", "C-NOTE-1")
def a_changelog_has_its_entries_newest_first(run: Run) -> None:
    """``{count, notes}``, each entry with all its fields."""
    for mod in run.mods[:5]:
        changelog = run.service.read(f"/api/modhub/{mod['id']}/changelog")
        require_shape("the changelog", {"count": int, "notes": [NOTE_SHAPE]}, changelog)
        require_equal("count", len(changelog["notes"]), changelog["count"])
        for newer, older in pairwise(note["createdAt"] for note in changelog["notes"]):
            require(newer >= older, f"the changelog of {label_of_mod(mod)} is not newest first.")


@check("C-NOTE-1", "C-NOTE-3", added=True)
def entries_keep_their_limits(run: Run) -> None:
    """A text is HTML of the same list, at most 4000 characters; an entry that was edited is not automatic."""
    for mod in run.mods[:5]:
        for note in run.service.read(f"/api/modhub/{mod['id']}/changelog")["notes"]:
            require_shape("an entry", {"createdAt": TIME_SHAPE, "editedAt": (TIME_SHAPE, None)}, note)
            require(len(note["text"]) <= 4000, f"an entry of {label_of_mod(mod)} has {len(note['text'])} characters.")
            require(len(note["title"] or "") <= 120, f"the title of an entry of {label_of_mod(mod)} is too long.")
            require(
                note["editedAt"] is None or not note["automatic"],
                f"an edited entry of {label_of_mod(mod)} is automatic.",
            )
            odd = {tag for tag, _ in _tags_of(note["text"])} - _ALLOWED_TAGS
            require(not odd, f"an entry of {label_of_mod(mod)} has {sorted(odd)}.")


@check("C-READ-13", added=True)
def what_stands_beside_mods_comes_at_once(run: Run) -> None:
    """In the order asked, doubles merged, with what the features of the service add."""
    ids = [mod["id"] for mod in reversed(run.mods[:5])]
    reply = run.service.ask("/api/modhub/details", {"ids": [UNKNOWN_ID, *ids, *ids, -1]})
    details = described_answer(run, "POST /api/modhub/details", reply.expect_named("Cache-Control", "no-store"))
    require_equal("missing", [UNKNOWN_ID, -1], details["missing"])
    require_equal("the mods of the details", ids, [entry["id"] for entry in details["details"]])
    for mod, entry in zip(reversed(run.mods[:5]), details["details"], strict=True):
        expected = mod["guid"], run.digest_of(mod)
        require_equal("guid and sha256 of a mod", expected, (entry["guid"], entry["sha256"]))
        for feature, field in _FIELDS_OF_FEATURES.items():
            require_equal(f"whether {field} is there", feature in run.features, field in entry)
    for bad in ("1", None, [True], ["1"], [1.5], list(range(1, 102))):
        run.service.ask("/api/modhub/details", {"ids": bad}).expect_error(400)
