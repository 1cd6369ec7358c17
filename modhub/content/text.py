"""Cleaning of plain text: applied to every title, name, version and label before it is stored (C-TXT-1, C-UP-7).

All functions are total and idempotent: they accept any string, including lone surrogates and NUL, and return one that
encodes as UTF-8 and that every database can store. For HTML see :mod:`modhub.content.markup`.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import groupby
from typing import Literal

from modhub.content import limits

NormalForm = Literal["NFC", "NFD", "NFKC", "NFKD"]

OCTET_STREAM = "application/octet-stream"

# C0 and C1 except newline and tab; surrogates, which cannot be encoded; the byte order mark.
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff]+")
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
# Embeddings, overrides and isolates; the plain marks LRM, RLM and ALM are part of right-to-left writing.
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]+")
# Line breaks that become spaces in a single line; Unicode's line and paragraph separators count too.
_BREAKS = ("\n", "\t", "\u2028", "\u2029")
_PATH_BREAKS = re.compile("[\u2028\u2029]+")

# Invisible, but neither format characters nor spaces in Unicode: fillers, variation selectors.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")

# A canonical composition joins at most four code points, so four times the limit is enough input for a cut text.
_SHRINK = 4
# Characters cleaned at a time.
_CHUNK_LENGTH = 64 * 1024
# Normalising shorter text is never slow.
_SHORT_TEXT = 500
_SHORT_RUN = 30

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
    """A single line of at most ``limit`` code points (C-TXT-1), ``""`` if nothing in it is visible.

    Newlines and tabs become spaces; bidirectional overrides, embeddings and isolates are removed.
    """
    cut = _cut(value, limit, _to_single_line)
    return cut if any(map(_is_visible, cut)) else ""


def block(value: str, limit: int) -> str:
    """Text of several lines, at most ``limit`` code points (C-TXT-1); ``\\r\\n`` becomes ``\\n``."""
    return _cut(value, limit, scrub)


def scrub(value: str) -> str:
    """The text without what may not be stored: controls except newline and tab, lone surrogates, U+FEFF."""
    return _UNSTORABLE.sub("", value)


def version(value: str | None) -> str:
    """A version label (C-UP-7): one line of at most 64 characters; ``""`` if absent."""
    return line(value or "", limits.VERSION)


def file_name(value: str | None, fallback: str) -> str:
    """The base name to store for an upload (C-UP-7): no path, nothing invisible, at most 255 characters.

    ``fallback`` replaces a name that is absent, empty, ``.`` or ``..``. Cutting keeps a short extension.
    """
    path = _PATH_BREAKS.sub("", _BIDI.sub("", _CONTROLS.sub("", value or "")))
    name = re.split(r"[/\\]", path)[-1]
    name = line(name, len(name) * _SHRINK)
    if len(name) > limits.FILE_NAME:
        match = _EXTENSION.search(name)
        extension = match[0] if match else ""
        name = name[: limits.FILE_NAME - len(extension)].rstrip() + extension
    return fallback if name in {"", ".", ".."} else name


def content_type(header: str | None) -> str:
    """The media type to store for an upload, as it was sent, parameters included (C-UP-7).

    Absent, longer than 255 characters or not in the form of RFC 9110, section 8.3.1: ``application/octet-stream``.
    """
    value = (header or "").strip(" \t")
    if len(value) > limits.CONTENT_TYPE or not _MEDIA_TYPE.fullmatch(value):
        return OCTET_STREAM
    return value


def sniff_image(head: bytes) -> str | None:
    """The image type according to the first bytes of a file (1 KB is plenty), or None (C-FILE-1).

    For an image that was sent without a type; a type that was sent is never second-guessed.
    """
    return next((name for signature, name in _SIGNATURES if signature.match(head)), None)


def normal(form: NormalForm, value: str) -> str:
    """``unicodedata.normalize`` in linear time.

    The library sorts a run of combining marks by insertion: 32,000 of them take two seconds (T-D5). Long runs are
    therefore put in canonical order beforehand, which changes no result.
    """
    if value.isascii() or unicodedata.is_normalized(form, value):
        return value
    if len(value) > _SHORT_TEXT:
        decomposed_form: NormalForm = "NFKD" if "K" in form else "NFD"
        value = "".join(
            _in_canonical_order(decomposed_form, is_marks, list(run))
            for is_marks, run in groupby(value, _mark_predicate(decomposed_form))
        )
    return unicodedata.normalize(form, value)


def _to_single_line(value: str) -> str:
    flat = _BIDI.sub("", scrub(value))
    for separator in _BREAKS:
        flat = flat.replace(separator, " ")
    return flat


def _cut(value: str, limit: int, clean: Callable[[str], str]) -> str:
    """The start of ``value``, cleaned character by character by ``clean``.

    Only as much as can matter is cleaned and normalised: the first chunk of megabytes. A part of NFC text is NFC text,
    so neither strip nor cut undoes it.
    """
    cleaned, enough = "", limit * _SHRINK
    for start in range(0, len(value), _CHUNK_LENGTH):
        cleaned = (cleaned + clean(value[start : start + _CHUNK_LENGTH])).lstrip()
        if len(cleaned) >= enough:
            break
    return normal("NFC", cleaned[:enough]).strip()[:limit].rstrip()


def _is_visible(char: str) -> bool:
    return unicodedata.category(char) not in {"Cf", "Zs", "Zl", "Zp"} and not _BLANK.match(char)


def _mark_predicate(decomposed_form: NormalForm) -> Callable[[str], bool]:
    # A few starters decompose to marks: U+0F73, and with compatibility U+FF9E.
    return lambda char: char > "\u02ff" and unicodedata.combining(unicodedata.normalize(decomposed_form, char)[0]) != 0


def _in_canonical_order(decomposed_form: NormalForm, is_marks: bool, run: list[str]) -> str:
    if not is_marks or len(run) <= _SHORT_RUN:
        return "".join(run)
    decomposed = "".join(unicodedata.normalize(decomposed_form, char) for char in run)
    return "".join(sorted(decomposed, key=unicodedata.combining))


def N_(text: str) -> str:  # noqa: N802 - gettext's name for it
    """Mark ``text`` for ``make messages`` where it is written; it is translated where it is shown."""
    return text
