"""Cleaning of HTML: the one allowlist for everything that owners write (C-TXT-8; T-A3, T-A4).

Two parsers that share no code, nh3 (html5ever) and bleach (html5lib), must both leave the stored text as it is, and nh3
has the last word: bleach is at its end of life and nothing rests on it alone. :class:`_Fitting` keeps
the text within its limit and its depth. HTML is cleaned when it is written, never when it is read.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import bleach
import nh3

from modhub import limits, text

Check = Callable[[str], str | None]


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# A tag as nh3 writes it: quoted values with every < and > in them escaped.
_TAG = re.compile(r'<(/?)([a-z][a-z0-9-]*)((?: [^ ="<>]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([^ ="<>]+)="[^"]*"')
_ENTITY_CUT = re.compile(r"&[#0-9A-Za-z]*\Z")

# A tag as owners write it. The possessive parts keep a search through quotes that never close from starting over.
_WRITTEN = re.compile(r"""</?([a-z][^\s/<>]*+)(?:[\s/](?:[^<>"']++|"[^"]*+"|'[^']*+')*+)?>""", re.IGNORECASE)
_VOID = _names("area base br col embed hr img input link meta source track wbr")
_FLOWING = _names("a b code del em i img ins kbd s samp small span strong sub sup u")

# A composition of ">" and this mark is a letter: NFC would break the tag before it.
_SOLIDUS = "\u0338"

_WEB = re.compile(r"https?://[^\s\\/?#<>\"`{}|^\x00-\x1f][^\s\\<>\"`{}|^]*", re.IGNORECASE)
_MAIL = re.compile(r"mailto:[^\s\\<>\"`{}|^/][^\s\\<>\"`{}|^]*", re.IGNORECASE)
# What browsers take in an address although it may not stand there (RFC 3986, 2).
_REPAIRED = {ord(char): f"%{ord(char):02X}" for char in ' <>"`{}|^'}
_FILE = re.compile(r"/Modhub/file/[1-9][0-9]{0,17}", re.ASCII)
_PIXELS = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)
_CELLS = re.compile(r"[1-9][0-9]{0,2}|1000", re.ASCII)
_LONGEST_VALUE = 1000
_ROUNDS = 8


def web_link(value: str) -> str | None:
    """An absolute ``http``, ``https`` or ``mailto`` address; else None.

    Spaces and the like inside it are percent-encoded, as a browser would.
    """
    address = text.line(value, limits.DESCRIPTION).translate(_REPAIRED)
    return address if _WEB.fullmatch(address) or _MAIL.fullmatch(address) else None


def own_file(value: str) -> str | None:
    """The address of a file of this service, ``/Modhub/file/{n}``; else None."""
    return value if _FILE.fullmatch(value) else None


def pixels(value: str) -> str | None:
    """A width or height from 1 to 9999; else None."""
    return value if _PIXELS.fullmatch(value) else None


def cells(value: str) -> str | None:
    """How many cells one spans, 1 to 1000 as browsers have it; else None."""
    return value if _CELLS.fullmatch(value) else None


def phrase(value: str) -> str | None:
    """A title or alternative text: one line of at most 1000 characters."""
    return text.line(value, _LONGEST_VALUE)


@dataclass(frozen=True)
class Allowlist:
    """What HTML may hold. A check gives the value to keep, or None to drop the attribute; it must keep what it gave.

    ``needed`` names, for an element that is nothing without it, the attribute without which it vanishes; ``swallowed``
    the elements that vanish with their content; ``rel`` is forced on every link. ``trusted``: a renderer of ours wrote
    the HTML, so that one parser is enough; the second takes ten times as long.
    """

    tags: frozenset[str]
    attributes: Mapping[str, Mapping[str, Check]]
    needed: Mapping[str, str] = field(default_factory=dict)
    swallowed: frozenset[str] = frozenset({"script", "style"})
    rel: str = "nofollow noopener ugc"
    trusted: bool = False

    def keep(self, tag: str, name: str, value: str) -> str | None:
        """The value that this attribute of this element may have, or None when it must go."""
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
    needed={"img": "src"},
)


def clean(value: str, limit: int, *, allow: Allowlist = OWNERS) -> str:
    """``value`` cut at ``limit`` code points, then cleaned: well formed, within ``allow`` and within ``limit``.

    Total and idempotent. Text that grows by escaping is cut once more, between tags and entities, so that nothing is
    left open (A4). The time is bounded for hostile input too: about 0.1 s for 8000 characters.
    """
    source = text.block(value, limit)
    while source:
        found = _settle(_without_unknown(source, allow), limit, allow)
        if found is not None:
            return found
        # The parsers go on disagreeing about the whole; they agree on less, at the latest on nothing.
        source = source[: len(source) // 2]
    return ""


def to_text(cleaned: str, limit: int) -> str:
    """Cleaned HTML as one plain line of at most ``limit`` characters, for cards and summaries; ``…`` ends a cut one.

    The result is text, not HTML: a template escapes it.
    """
    flat = _TAG.sub(lambda tag: "" if tag[2] in _FLOWING else " ", cleaned)
    # Room for one character more shows whether something is left out.
    words = text.line(" ".join(html.unescape(flat).split()), limit + 1)
    if len(words) <= limit:
        return words
    short = words[: limit - 1]
    whole, space, _ = short.rpartition(" ")
    return (whole if space and len(whole) > limit // 2 else short).rstrip() + "…"


def _without_unknown(source: str, allow: Allowlist) -> str:
    """The text without most tags that would vanish anyway.

    Left in, some would have the parsers take what they hold for foreign (``svg``), raw (``iframe``) or inert
    (``template``), and its text would be lost or show its tags. What this misses, the parsers drop.
    """
    known = allow.tags | allow.swallowed
    return _WRITTEN.sub(lambda tag: tag[0] if tag[1].lower() in known else "", source)


def _settle(source: str, limit: int, allow: Allowlist) -> str | None:
    """The text that both parsers leave as it is, or None when they do not come to one in a few rounds."""
    seen = _by_nh3(source, limit, allow)
    for _ in range(_ROUNDS):
        again = _by_nh3(seen, limit, allow)
        if again == seen and not allow.trusted:
            again = _by_nh3(_by_bleach(seen, allow), limit, allow)
        if again == seen:
            return seen
        seen = again
    return None


def _by_nh3(source: str, limit: int, allow: Allowlist) -> str:
    # Without the "*" entry nh3 lets lang and title through everywhere.
    attributes = {"*": set[str](), **{tag: set(checks) for tag, checks in allow.attributes.items()}}
    normal = nh3.clean(
        source,
        tags=set(allow.tags),
        clean_content_tags=set(allow.swallowed),
        attributes=attributes,
        attribute_filter=allow.keep,
        link_rel=allow.rel,
        url_schemes={"http", "https", "mailto"},
    )
    return _Fitting(limit, allow).fit(normal)


def _by_bleach(source: str, allow: Allowlist) -> str:
    def kept(tag: str, name: str, value: str) -> bool:
        return allow.keep(tag, name, value) == value

    cleaned: str = bleach.clean(
        source, tags=allow.tags, attributes=kept, protocols={"http", "https", "mailto"}, strip=True, strip_comments=True
    )
    return cleaned


class _Fitting:
    """Writes what nh3 gave anew, tag by tag: within the limit, not too deep, without elements that lack what they need.

    Its input is well formed, so that the closing tag that comes belongs to the innermost open one.
    """

    def __init__(self, limit: int, allow: Allowlist) -> None:
        self._room = limit
        self._allow = allow
        self._parts: list[str] = []
        # The names of the open elements, "" for one that was left out.
        self._open: list[str] = []
        self._depth = 0
        self._full = False

    def fit(self, source: str) -> str:
        """The text written anew, its outer white space stripped."""
        start = 0
        for tag in _TAG.finditer(source):
            self._text(source[start : tag.start()])
            start = tag.end()
            if tag[1]:
                self._close()
            else:
                self._start(tag)
            if self._full:
                break
        else:
            self._text(source[start:])
        while self._open:
            self._close()
        return "".join(self._parts).strip()

    def _start(self, tag: re.Match[str]) -> None:
        name = tag[2]
        void = name in _VOID
        needed = self._allow.needed.get(name)
        left_out = needed is not None and needed not in _ATTRIBUTE.findall(tag[3])
        left_out = left_out or (not void and self._depth >= limits.HTML_DEPTH)
        if not left_out:
            cost = len(tag[0]) + (0 if void else len(name) + 3)
            if cost > self._room:
                self._full = True
                return
            self._room -= cost
            self._parts.append(tag[0])
        if not void:
            self._open.append("" if left_out else name)
            self._depth += not left_out

    def _close(self) -> None:
        name = self._open.pop()
        if name:
            self._depth -= 1
            self._parts.append(f"</{name}>")

    def _text(self, source: str) -> None:
        piece = text.normal("NFC", text.scrub(source))
        last = self._parts[-1] if self._parts else ""
        if last.endswith(">"):
            piece = piece.replace(_SOLIDUS, "")
        if last == "<pre>":
            # A parser drops the newline after it, each time one.
            piece = piece.lstrip("\n")
        if len(piece) > self._room:
            piece = _ENTITY_CUT.sub("", piece[: self._room])
            self._full = True
        self._room -= len(piece)
        if piece:
            self._parts.append(piece)
