"""Content-Disposition (RFC 6266, 8187): every name survives, and none injects a header."""

import re
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from modhub.web.downloads import content_disposition

FORM = re.compile(
    r"""(inline|attachment); filename="((?:[ !#-\[\]-~]|\\")*)"(?:; filename\*=UTF-8''([A-Za-z0-9!#$&+.^_`|~%-]+))?"""
)


def read(header):
    """The header as a strict reader takes it: kind, plain name, extended name."""
    match = FORM.fullmatch(header)
    assert match is not None, header
    kind, plain, extended = match.groups()
    return kind, plain.replace('\\"', '"'), None if extended is None else unquote(extended, errors="strict")


@pytest.mark.parametrize(
    ("name", "plain", "extended"),
    [
        ("mod.zip", "mod.zip", None),
        ('say "hi".zip', 'say "hi".zip', 'say "hi".zip'),
        ("Löwe.zip", "Lowe.zip", "Löwe.zip"),
        ("日本.zip", "__.zip", "日本.zip"),
        # separators, in ASCII and in what becomes ASCII
        ("../../etc/passwd", ".._.._etc_passwd", None),
        ("a／b＼c.zip", "a_b_c.zip", "a／b＼c.zip"),
        # controls, line ends, directions
        ("a\r\nSet-Cookie: x=1.zip", "aSet-Cookie: x=1.zip", None),
        ("a\x00b\x7fc\x85d\te.zip", "abcde.zip", None),
        ("photo\u202egpj.exe", "photogpj.exe", None),
        ("a\ud800b.zip", "ab.zip", None),
        # nothing is left
        ("", "file", None),
        ("\u0301", "file", "\u0301"),
        # length
        ("é" * 255, "e" * 255, "é" * 255),
        ("a" * 5000, "a" * 255, None),
    ],
)
def test_names(name, plain, extended):
    # C-FILE-5, T-A5
    assert read(content_disposition(name, inline=False)) == ("attachment", plain, extended)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=[]), max_size=300))
@example("\ud800\udc00\\\"/'%")
def test_whatever_the_name_the_header_is_sound(name):
    # C-FILE-5, T-A5
    kind, plain, extended = read(content_disposition(name, inline=False))
    assert kind == "attachment"
    for shown in (plain, extended or ""):
        assert not re.search(r"[/\\\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]", shown)
        assert shown not in {".", ".."}
    assert plain
