"""Cleaning of plain text."""

import time
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modhub.content import text

# Any code points, lone surrogates included, and often those that make trouble.
TROUBLE = "\x00\x01\t\n\r\x7f\x85\xa0\u0301\u0323\u0338\u200b\u200e\u2028\u202e\u2066\u2069\ufeff\ud800\udfff/\\. ae"
ANY = st.text(st.characters(exclude_categories=[]), max_size=80) | st.text(TROUBLE, max_size=40)
LIMITS = st.integers(min_value=1, max_value=40)
CLEANERS = [text.line, text.block]


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("Cafe\u0301", "Café"),
        ("two\nlines\tand tab", "two lines and tab"),
        ("a\x00b\x1bc\x7fd\x85e\x9ff", "abcdef"),
        ("e\x00\u0301", "é"),
        ("a\u2028b\u2029c", "a b c"),
        ("\u202ecod.exe\u202c \u2066x\u2069 \u202a\u202b\u202d\u2067\u2068", "cod.exe x"),
        ("\u05d0\u200e\u200f\u061c", "\u05d0\u200e\u200f\u061c"),
        ("👨\u200d👩\u200d👧 ❤\ufe0f", "👨\u200d👩\u200d👧 ❤\ufe0f"),
        ("\xa0\u3000x\u2003", "x"),
        ("\ufeffBom \ufeffLibrary", "Bom Library"),
        ("\u200b\u200d\ufeff\u2060\xad", ""),
        ("\u0301", "\u0301"),
    ],
)
def test_a_line_is_cleaned(given_text, kept):
    # C-TXT-1
    assert text.line(given_text, 120) == kept


@pytest.mark.parametrize(
    ("given_text", "kept"),
    [
        ("one\n\ttwo", "one\n\ttwo"),
        ("dos\r\nline", "dos\nline"),
        ("a\x00\x08\x0b\x0c\x0e\x1f\x7f\x80\x9fb", "ab"),
        ("Cafe\u0301\ud800", "Café"),
        ("\ufeff# Title\ufeff", "# Title"),
        ("a\u2028b", "a\u2028b"),
    ],
)
def test_a_block_keeps_newlines_and_tabs(given_text, kept):
    # C-TXT-1
    assert text.block(given_text, 8000) == kept


@pytest.mark.parametrize("clean", CLEANERS)
def test_the_cut_counts_code_points_and_leaves_no_white_space_at_the_end(clean):
    # C-TXT-1
    assert clean("é" * 200, 120) == "é" * 120
    assert clean("😀" * 200, 120) == "😀" * 120
    assert clean("e\u0301" * 200, 120) == "é" * 120
    assert clean("\u1f00\u0300\u0345" * 200, 120) == "\u1f82" * 120
    assert clean("abc def", 4) == "abc"
    assert clean(" " * 500 + "abc", 3) == "abc"


@pytest.mark.parametrize("clean", CLEANERS)
@given(value=ANY, limit=LIMITS)
@example(value="e\x00\u0301 \u200b", limit=2)
@settings(deadline=None)
def test_cleaning_is_total_and_idempotent(clean, value, limit):
    # C-TXT-1
    kept = clean(value, limit)
    kept.encode()
    assert clean(kept, limit) == kept
    assert len(kept) <= limit
    assert kept == kept.strip()
    assert unicodedata.is_normalized("NFC", kept)
    assert all(unicodedata.category(char) not in {"Cc", "Cs"} or char in "\n\t" for char in kept)
    if clean is text.line:
        assert kept.splitlines() in ([kept], [])
        assert not set(kept) & set("\t\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_long_runs_of_marks_are_cleaned_in_time_and_as_the_library_would():
    began = time.thread_time()
    for run in ("\u0301\u0323" * 500_000, "\u0301" * 500_000 + "\u0323" * 500_000, "\u0f73" * 1_000_000):
        assert len(text.block("a" + run, 8000)) == 8000
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        text.normal(form, "\u0301\u0323\uff9e\u0f73" * 50_000)
    assert time.thread_time() - began < 20


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@given(
    value=st.text("ae\u0301\u0323\u0327\u0338\u0344\u0345\u0f73\u0f75\uff9e\u3099\u1100\u1161가ｶｶ\u1e0b", min_size=600)
)
@settings(deadline=None, max_examples=20)
def test_normalising_long_text_gives_what_the_library_gives(form, value):
    doubled = value + "\u0301\uff9e\u0323\u0f73\u0344" * 40 + value
    assert text.normal(form, doubled) == unicodedata.normalize(form, doubled)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("mod.zip", "mod.zip"),
        ("C:\\Users\\me\\mod.zip", "mod.zip"),
        ("a/b\\c/d\\e.js", "e.js"),
        ("mod\x00.zip\r\nX: y", "mod.zipX: y"),
        ("\u202egpj.exe", "gpj.exe"),
        ("...", "..."),
        (None, "code"),
        (" .. ", "code"),
        (".\x00.", "code"),
        ("a/\u200b", "code"),
    ],
)
def test_a_file_name_is_a_leaf(sent, kept):
    # C-UP-7
    assert text.file_name(sent, "code") == kept


def test_a_long_file_name_keeps_its_extension():
    # C-UP-7, T-A5
    kept = text.file_name("a" * 4000 + ".tar.zip", "code")
    assert (len(kept), kept[-5:]) == (255, "a.zip")
    assert text.file_name("a" * 4000, "code") == "a" * 255
    assert text.file_name("a." + "b" * 4000, "code") == "a." + "b" * 253
    assert text.file_name("a" * 250 + " " * 20 + "b.js", "code") == "a" * 250 + ".js"


@given(value=ANY)
@settings(deadline=None)
def test_a_file_name_is_never_a_path(value):
    kept = text.file_name(value, "code")
    kept.encode()
    assert not set(kept) & set("/\\\u2028\u2029\u202e" + "".join(map(chr, range(32))))
    assert kept not in {"", ".", ".."}
    assert len(kept) <= 255
    assert text.file_name(kept, "code") == kept


@pytest.mark.parametrize(
    "header",
    [
        "image/png",
        "a/" + "b" * 253,
        'application/x; a="b, c; \\"d\\""; e=f',
    ],
)
def test_a_media_type_is_stored_as_sent(header):
    assert text.content_type(header) == header
    assert text.content_type(f" {header}\t") == header


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "image/",
        "text/html, image/png",
        "image/png\n",
        "image/pn\xe9",
        "a/" + "b" * 254,
        'a/b;c="\t"',
        "*/*",
        "a/b c",
        "a/b" + "; " * 120 + "!",
        "x" * 1_000_000,
    ],
)
def test_a_malformed_media_type_is_an_octet_stream(header):
    # C-UP-10, T-A6
    assert text.content_type(header) == "application/octet-stream"


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "image/png"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\n\x00\x00\x00WEBPVP8 ", "image/webp"),
        (b"\x00\x00\x00\x20ftypavif\x00", "image/avif"),
        (b"BM\x36\x00\x0c\x00\x00\x00\x00\x00\x36", "image/bmp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", "image/svg+xml"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a -- b --> <!DOCTYPE svg PUBLIC "x" "y">\n<svg>', "image/svg+xml"),
        (b"", None),
        (b"RIFF\x00\x00\x00\x00WAVE", None),
        (b"BMW is a car maker", None),
        (b"<html><svg>", None),
        (b"<!--" * 2000, None),
    ],
)
def test_an_image_shows_its_type(head, kind):
    # C-UP-10
    assert text.sniff_image(head) == kind


@pytest.mark.parametrize("clean", CLEANERS)
@given(value=st.text(st.sampled_from(" \n\t\r\0\x85\u2028\u202ea\u0301é<️"), max_size=60), limit=st.integers(1, 12))
@example(value="\0" * 9 + " " * 9 + "a" * 20, limit=3)
@example(value="e" + "\u0301" * 9, limit=1)
def test_cleaning_in_chunks_gives_the_beginning_of_the_whole(clean, value, limit):
    whole = clean(value, limit)
    with pytest.MonkeyPatch.context() as patch:
        for piece in (1, 2, 3, 7):
            patch.setattr(text, "_CHUNK_LENGTH", piece)
            assert clean(value, limit) == whole


@pytest.mark.parametrize("clean", CLEANERS)
@pytest.mark.parametrize("char", ["x", "\u0301"])
def test_of_megabytes_the_beginning_alone_is_cleaned(clean, char, monkeypatch):
    looked = []
    monkeypatch.setattr(text, "scrub", lambda value: looked.append(len(value)) or value)
    assert len(clean("\0" + char * 4_000_000, 120)) <= 120
    assert sum(looked) <= 2 * 64 * 1024
