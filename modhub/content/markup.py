"""Cleaning of HTML, with the allowlist for everything that owners write (C-TXT-8; T-A3).

Two parsers that share no code, nh3 (html5ever) and bleach (html5lib), must both leave the stored text unchanged, and
nh3 runs last: bleach is at its end of life, and nothing depends on it alone. :mod:`modhub.content.html_limits` sees to
length and depth. HTML is cleaned when it is written, never when it is read.
The wiki's HTML comes from our own renderer and from holders of a key: nh3 alone cleans it (`Allowlist.trusted`), in a
third of the time.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

import bleach
import nh3

from modhub.content import limits, text
from modhub.content.html_limits import BLOCK_EDGE, INLINE, TAG, HtmlRewriter

SUMMARY = 160
"""Characters of a summary."""
SUMMARIZED = 12 * SUMMARY
"""Characters of cleaned HTML that a summary of this length is made from."""
Check = Callable[[str], str | None]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# A tag as owners write it. The possessive quantifiers prevent backtracking through quotes that never close.
_SOURCE_TAG = re.compile(
    r"""</?([a-z][^\s/<>]*+)(?:[\s/](?:[^<>="']++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s<>"'][^\s<>]*+)?|["'])*+)?>""",
    re.IGNORECASE,
)
_BLOCK_END = re.compile(r"</(blockquote|dd|dt|figcaption|li|p|pre|td|th|tr)>")
_HEADING = re.compile(r"<h[1-6][ >]")
_FIRST_HEADINGS = re.compile(r"\A\s*(?:<h([1-6])(?: [^<>]*)?>(?:(?!</h[1-6]>).)*</h\1>\s*)+", re.DOTALL)
WITH_CONTENT = frozenset({"script", "style"})
"""Elements that are dropped with their content."""
RENAMED = {"h1": "h2", "h5": "h4", "h6": "h4"}
"""Tags that become others where the allowlist has only these."""
BLOCKS = _names(
    "address article aside body button caption center details dialog dir div fieldset figcaption figure footer form "
    "frameset h1 header hgroup html iframe legend listing main menu nav noframes noscript object optgroup option "
    "plaintext search section select summary template textarea title xmp"
)
"""Unknown tags that begin a line: where one is removed, a line break is left."""

_WEB = re.compile(r"https?://[^\s\\/?#<>\"`{}|^\x00-\x1f][^\s\\<>\"`{}|^]*", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^\s\\<>\"`{}|^/][^\s\\<>\"`{}|^]*", re.IGNORECASE)
# Characters that browsers accept in an address although they are not allowed (RFC 3986, 2).
_PERCENT_ENCODED = {ord(char): f"%{ord(char):02X}" for char in ' <>"`{}|^'}
_FILE = re.compile(r"/Modhub/file/[1-9][0-9]{0,17}", re.ASCII)
_PIXELS = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)
_CELLS = re.compile(r"[1-9][0-9]{0,2}|1000", re.ASCII)
_MAX_VALUE_LENGTH = 1000
_MAX_ROUNDS = 8


def web_link(value: str) -> str | None:
    """An absolute ``http``, ``https`` or ``mailto`` address; otherwise None.

    Spaces and the like inside it are percent-encoded, as a browser would do.
    """
    address = text.line(value, limits.DESCRIPTION).translate(_PERCENT_ENCODED)
    return address if _WEB.fullmatch(address) or _MAIL.fullmatch(address) else None


def own_file(value: str) -> str | None:
    """The address of a file of this service, ``/Modhub/file/{n}``; otherwise None."""
    return value if _FILE.fullmatch(value) else None


def pixels(value: str) -> str | None:
    """A width or height from 1 to 9999; otherwise None."""
    return value if _PIXELS.fullmatch(value) else None


def cells(value: str) -> str | None:
    """A colspan or rowspan, 1 to 1000 as in browsers; otherwise None."""
    return value if _CELLS.fullmatch(value) else None


def phrase(value: str) -> str | None:
    """A title or alternative text: one line of at most 1000 characters."""
    return text.line(value, _MAX_VALUE_LENGTH)


@dataclass(frozen=True)
class Allowlist:
    """The HTML that is allowed. A check returns the value to keep, or None to drop the attribute, and is idempotent.

    ``required`` maps an element to the attribute without which it is dropped. ``rel`` is forced on every link.
    ``trusted``: the HTML comes from a renderer of ours, so one parser is enough; the second takes ten times as long.
    """

    tags: frozenset[str]
    attributes: Mapping[str, Mapping[str, Check]]
    required: Mapping[str, str] = field(default_factory=dict)
    rel: str = "nofollow noopener ugc"
    trusted: bool = False

    def filter_attribute(self, tag: str, name: str, value: str) -> str | None:
        """The value that this attribute of this element may have, or None to drop it."""
        if tag == "a" and name == "rel":
            return self.rel
        check = self.attributes.get(tag, {}).get(name)
        return check(value) if check else None


OWNERS = Allowlist(
    tags=_names(
        "p br hr h2 h3 h4 strong b em i u s del ins sub sup small blockquote ul ol li dl dt dd code pre kbd samp "
        "table thead tbody tr th td a img span"
    ),
    attributes={
        "a": {"href": web_link, "title": phrase},
        "img": {"src": own_file, "alt": phrase, "width": pixels, "height": pixels},
        "th": {"colspan": cells, "rowspan": cells},
        "td": {"colspan": cells, "rowspan": cells},
    },
    required={"img": "src"},
)


def clean(value: str, limit: int, *, allow: Allowlist = OWNERS) -> str:
    """``value`` cut at ``limit`` code points, then cleaned: well formed, within ``allow`` and within ``limit``.

    Total and idempotent. Text that grows by escaping is cut again, between tags and entities, so that nothing is left
    open (T-A3). The time is bounded for hostile input too: about 0.1 s for 8000 characters.
    """
    source = text.block(value, limit)
    while source:
        cleaned = _settle(_without_unknown(source, allow), limit, allow)
        if cleaned is not None:
            return cleaned
        # The parsers keep disagreeing about the whole; try less, at worst nothing.
        source = source[: len(source) // 2]
    return ""


def to_text(cleaned: str, limit: int) -> str:
    """Cleaned HTML as a single line of at most ``limit`` characters, for cards and summaries; a cut one ends in ``…``.

    The result is text, not HTML: a template escapes it.
    """
    return _shorten(_flatten(cleaned), limit)


def _flatten(cleaned: str) -> str:
    return " ".join(html.unescape(TAG.sub(lambda tag: "" if tag[2] in INLINE else " ", cleaned)).split())


def _shorten(flat: str, limit: int) -> str:
    # One more character shows whether something is cut; a space at the end goes.
    line = text.line(flat, limit + 2).rstrip()
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    whole_words, space, _ = cut.rpartition(" ")
    return (whole_words if space and len(whole_words) > limit // 2 else cut).rstrip(" .,;:") + "…"


def summarize(cleaned: str, limit: int = SUMMARY) -> str:
    """The beginning of cleaned HTML as a line of at most ``limit`` characters, without reading the rest.

    It skips the first heading and ends before the next one. The result is text, not HTML.
    """
    start = cleaned[: 12 * limit]
    last_tag = start.rfind("<")
    is_tag_cut = len(cleaned) > len(start) and last_tag > start.rfind(">")
    start = start[:last_tag] if is_tag_cut else start
    first_section = _HEADING.split(_FIRST_HEADINGS.sub("", start))[0]
    parts = _BLOCK_END.split(first_section)
    ends = zip_longest(parts[::2], parts[1::2])
    blocks = [(line, tag) for block, tag in ends if (line := _flatten(block))]
    if not blocks:
        return to_text(start, limit)
    # A list's items are seldom sentences; a term is explained by what follows.
    marks = [(":" if tag == "dt" else ".") if line[-1].isalnum() else "" for line, tag in blocks[:-1]]
    sentences = [line + mark for (line, _), mark in zip(blocks, [*marks, ""], strict=True)]
    return _shorten(" ".join(sentences), limit)


def _without_unknown(source: str, allow: Allowlist) -> str:
    """The text without most tags that would be dropped anyway.

    Left in, some would make the parsers treat the content as foreign (``svg``), raw (``iframe``) or inert
    (``template``), and its text would be lost or show its tags. The parsers drop what this misses.
    """
    known_tags = allow.tags | WITH_CONTENT

    def replace(tag: re.Match[str]) -> str:
        name = tag[1].lower()
        if name in known_tags:
            return tag[0]
        if RENAMED.get(name) in known_tags:
            return tag[0].replace(tag[1], RENAMED[name], 1)
        return BLOCK_EDGE if name in BLOCKS else ""

    return _SOURCE_TAG.sub(replace, source)


def _settle(source: str, limit: int, allow: Allowlist) -> str | None:
    """The text that both parsers leave unchanged, or None if they do not converge in a few rounds."""
    cleaned = _by_nh3(source, limit, allow)
    for _ in range(_MAX_ROUNDS):
        recleaned = _by_nh3(cleaned, limit, allow)
        if recleaned == cleaned and not allow.trusted:
            recleaned = _by_nh3(_by_bleach(cleaned, allow), limit, allow)
        if recleaned == cleaned:
            return cleaned
        cleaned = recleaned
    return None


def _by_nh3(source: str, limit: int, allow: Allowlist) -> str:
    # Without the "*" entry nh3 lets lang and title through everywhere.
    attributes = {"*": set[str](), **{tag: set(checks) for tag, checks in allow.attributes.items()}}
    normal = nh3.clean(
        source,
        tags=set(allow.tags),
        clean_content_tags=set(WITH_CONTENT),
        attributes=attributes,
        attribute_filter=allow.filter_attribute,
        link_rel=allow.rel,
        url_schemes={"http", "https", "mailto"},
    )
    return HtmlRewriter(limit, allow.required).fit(normal)


def _by_bleach(source: str, allow: Allowlist) -> str:
    def is_allowed(tag: str, name: str, value: str) -> bool:
        return allow.filter_attribute(tag, name, value) == value

    cleaned: str = bleach.clean(
        source,
        tags=allow.tags,
        attributes=is_allowed,
        protocols={"http", "https", "mailto"},
        strip=True,
        strip_comments=True,
    )
    return cleaned
