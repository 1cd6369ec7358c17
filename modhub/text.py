"""Cleaning of plain text: what every title, name, version and label passes before it is stored (C-TXT-1, C-UP-7).

All functions are total: they take any string, lone surrogates and NUL included, and give one that encodes as UTF-8,
that every database stores, and that they give back unchanged when it passes again. HTML is :mod:`modhub.markup`.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import groupby
from typing import Literal

from modhub import limits

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]

OCTET_STREAM = "application/octet-stream"

# C0 and C1 but newline and tab; surrogates, which no encoding takes.
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Embeddings, overrides and isolates; the plain marks LRM, RLM and ALM are part of right-to-left writing.
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]+")
# In a single line the Unicode line and paragraph separators break a line as a newline does.
_BREAKS = ("\n", "\t", "\u2028", "\u2029")
_PATH_BREAKS = re.compile("[\u2028\u2029]+")

# What draws nothing although Unicode calls it neither a format character nor a space: fillers, variation selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")

# No canonical composition joins more than four code points, so this many times the limit decides the cut text.
_SHRINK = 4
# Characters that are cleaned at a time.
_PIECE = 64 * 1024
# Shorter text cannot make normalisation slow.
_HARMLESS = 500
_RUN = 30

_EXTENSION = re.compile(r"\.[^.\s]{1,16}\Z")

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 (a token of RFC 9110, no secret)
_NAME = r"[0-9A-Za-z][!#$&^_.+0-9A-Za-z-]*"
_MEDIA_TYPE = re.compile(rf'{_NAME}/{_NAME}(?: *+; *+(?:{_TOKEN}=(?:{_TOKEN}|"(?:[ !#-\[\]-~]|\\[ -~])*"))?)*')

_SIGNATURES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (re.compile(rb"BM.{4}\0{4}", re.DOTALL), "image/bmp"),
    (
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?:[^-]|-(?!->))*+-->\s*+)*+"
            rb"(?:<!DOCTYPE\s+svg[^>\[]*+>\s*+)?(?:<!--(?:[^-]|-(?!->))*+-->\s*+)*+<svg[\s/>]"
        ),
        "image/svg+xml",
    ),
)


def line(value: str, limit: int) -> str:
    """A single line of at most ``limit`` code points (C-TXT-1), ``""`` when nothing in it can be seen.

    Newlines and tabs become spaces, bidirectional overrides, embeddings and isolates are removed.
    """
    cut = _cut(value, limit, _flat)
    return cut if any(map(_drawn, cut)) else ""


def block(value: str, limit: int) -> str:
    """Text of several lines, at most ``limit`` code points (C-TXT-1); ``\\r\\n`` becomes ``\\n``."""
    return _cut(value, limit, scrub)


def scrub(value: str) -> str:
    """The text without what cannot be stored: control characters other than newline and tab, lone surrogates."""
    return _UNSTORABLE.sub("", value)


def version(value: str | None) -> str:
    """A version label (C-UP-7): one line of at most 64; ``""`` when there is none."""
    return line(value or "", limits.VERSION)


def file_name(value: str | None, fallback: str) -> str:
    """The leaf name to store for an upload (C-UP-7): no path, nothing invisible, at most 255 characters.

    ``fallback`` answers for a name that is absent, empty, ``.`` or ``..``. A cut keeps a short extension.
    """
    plain = _PATH_BREAKS.sub("", _BIDI.sub("", _CONTROLS.sub("", value or "")))
    leaf = re.split(r"[/\\]", plain)[-1]
    leaf = line(leaf, len(leaf) * _SHRINK)
    if len(leaf) > limits.FILE_NAME:
        found = _EXTENSION.search(leaf)
        ending = found[0] if found else ""
        leaf = leaf[: limits.FILE_NAME - len(ending)].rstrip() + ending
    return fallback if leaf in {"", ".", ".."} else leaf


def content_type(header: str | None) -> str:
    """The media type to store for an upload, as it was sent, parameters included (C-UP-7).

    Absent, longer than 255 characters or not of the form of RFC 9110, section 8.3.1: ``application/octet-stream``.
    """
    sent = (header or "").strip(" \t")
    if len(sent) > limits.CONTENT_TYPE or not _MEDIA_TYPE.fullmatch(sent):
        return OCTET_STREAM
    return sent


def sniff_image(head: bytes) -> str | None:
    """The image type that the first bytes of a file show (1 KB is plenty), or None (C-FILE-1).

    Meant for an image that came without a type; a type that was sent is never second-guessed.
    """
    return next((name for signature, name in _SIGNATURES if signature.match(head)), None)


def normal(form: NormalForm, value: str) -> str:
    """``unicodedata.normalize`` in a time that grows with the length alone.

    The library sorts a run of combining marks by insertion: 32,000 of them take two seconds (T-D6). Long runs
    are therefore put in canonical order beforehand, which changes no result.
    """
    if value.isascii() or unicodedata.is_normalized(form, value):
        return value
    if len(value) > _HARMLESS:
        full: NormalForm = "NFKD" if "K" in form else "NFD"
        value = "".join(_ordered(full, marks, list(run)) for marks, run in groupby(value, _mark_test(full)))
    return unicodedata.normalize(form, value)


def _flat(value: str) -> str:
    flat = _BIDI.sub("", scrub(value))
    for separator in _BREAKS:
        flat = flat.replace(separator, " ")
    return flat


def _cut(value: str, limit: int, clean: Callable[[str], str]) -> str:
    """The beginning of ``value``, cleaned character by character by ``clean``.

    Only as much is cleaned and normalised as can matter: of megabytes that are trimmed, the first piece. A part of NFC
    text is NFC text, so neither strip nor cut undoes it.
    """
    whole, most = "", limit * _SHRINK
    for at in range(0, len(value), _PIECE):
        whole = (whole + clean(value[at : at + _PIECE])).lstrip()
        if len(whole) >= most:
            break
    return normal("NFC", whole[:most]).strip()[:limit].rstrip()


def _drawn(char: str) -> bool:
    return unicodedata.category(char) not in {"Cf", "Zs", "Zl", "Zp"} and not _BLANK.match(char)


def _mark_test(full: NormalForm) -> Callable[[str], bool]:
    # A few characters are starters themselves and decompose to marks: U+0F73, and with compatibility U+FF9E.
    return lambda char: char > "\u02ff" and unicodedata.combining(unicodedata.normalize(full, char)[0]) != 0


def _ordered(full: NormalForm, marks: bool, run: list[str]) -> str:
    if not marks or len(run) <= _RUN:
        return "".join(run)
    parts = "".join(unicodedata.normalize(full, char) for char in run)
    return "".join(sorted(parts, key=unicodedata.combining))


def N_(text: str) -> str:  # noqa: N802 - gettext's name for it
    """Mark ``text`` for ``make messages`` where it is written; it is translated where it is shown."""
    return text
