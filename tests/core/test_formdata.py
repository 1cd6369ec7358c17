"""Forms without files: browsers' forms are read, unreadable ones are 400, all in linear time."""

import contextlib
import time

import pytest

from modhub.base.errors import ApiError
from modhub.content.limits import JSON_BODY
from modhub.web.forms import (
    MAX_FIELD,
    MAX_FORM_FIELDS,
    MAX_NAME,
    MAX_TEXT,
    MULTIPART,
    URLENCODED,
    parse_fields,
)


def part(headers, body=b"x"):
    return f"--b\r\nContent-Disposition: form-data; {headers}\r\n\r\n".encode() + body + b"\r\n"


def multipart(*parts):
    return b"".join(parts) + b"--b--\r\n"


@pytest.mark.parametrize(
    ("kind", "body", "fields"),
    [
        (URLENCODED, b"a=1&b=&c=x+y%2Bz&a=2", [("a", "1"), ("b", ""), ("c", "x y+z"), ("a", "2")]),
        (URLENCODED, b"%61=%&b=%4&c=%zz%41%4z&d=a=b%3D", [("a", "%"), ("b", "%4"), ("c", "%zzA%4z"), ("d", "a=b=")]),
        (
            MULTIPART + "; boundary=b",
            multipart(part('name="a"'), part('name="a"', "é".encode())),
            [("a", "x"), ("a", "é")],
        ),
        (MULTIPART + '; charset=latin-1; boundary="b"', multipart(part('name="a"', b"")), [("a", "")]),
        (
            MULTIPART + "; boundary=b",
            multipart(part('name="a"\r\nContent-Type: text/plain; charset=latin-1', "é".encode())),
            [("a", "é")],
        ),
        ("application/json", b'{"a": 1}', []),
    ],
)
def test_fields_are_read_in_their_order(kind, body, fields):
    assert parse_fields(kind, body) == fields


@pytest.mark.parametrize(
    ("kind", "body", "sentence"),
    [
        (URLENCODED, b"a=%ff", "not valid UTF-8"),
        (URLENCODED, b"&" * MAX_FORM_FIELDS, "too many fields"),
        (MULTIPART + "; boundary=b", part('name="a"') * 50_000, "too many fields"),
        (MULTIPART + "; boundary=b", multipart(part('name="a"; filename="q"')), "could not be read"),
        (MULTIPART + "; boundary=b", part('name="a"'), "incomplete"),
        (MULTIPART + "; boundary=" + "b" * 200, multipart(part('name="a"')).replace(b"--b", b"--" + b"b" * 200), "inc"),
    ],
)
def test_what_cannot_be_read_is_a_refusal_that_says_why(kind, body, sentence):
    with pytest.raises(ApiError, match=sentence) as caught:
        parse_fields(kind, body)
    assert caught.value.status == 400


@pytest.mark.parametrize("unit", ["a", "é", "%C3%A9", "%", "%41"])
def test_a_field_is_read_up_to_its_limit_and_never_in_the_middle_of_a_character(unit):
    # T-D4
    for shift in range(6):
        typed = "x" * shift + unit * (2 * MAX_FIELD // len(unit))
        ((_, value), (_, last)) = parse_fields(URLENCODED, f"text={typed}&b=2".encode())
        assert last == "2"
        assert "�" not in value
        shown = {"%C3%A9": "é", "%41": "A"}.get(unit, unit)
        assert set(value) <= {"x", shown[0]}
        assert len(value) >= MAX_FIELD // max(len(unit), len(unit.encode())) - 1
        if unit == "é":
            body = multipart(part('name="text"', typed.encode()), part('name="b"', b"2"))
            assert parse_fields(MULTIPART + "; boundary=b", body) == [("text", value), ("b", "2")]


def test_all_fields_of_a_form_together_are_read_up_to_a_limit():
    # T-D4
    body = b"&".join(b"%s=%s" % (name, b"a" * MAX_FIELD) for name in (b"a", b"b", b"c", b"d", b"e"))
    expected = [MAX_FIELD] * (MAX_TEXT // MAX_FIELD) + [0]
    assert [len(value) for _, value in parse_fields(URLENCODED, body)] == expected
    parts = [part(f'name="{name}"', b"a" * MAX_FIELD) for name in "abcde"]
    assert [len(value) for _, value in parse_fields(MULTIPART + "; boundary=b", multipart(*parts))] == expected
    assert parse_fields(URLENCODED, b"a" * JSON_BODY) == [("a" * MAX_NAME, "")]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (URLENCODED + '; x="' + ";" * 60_000, b"a=1"),
        (MULTIPART + "; " + 'boundary="' * 6_000, b"--b--"),
        (MULTIPART + "; boundary=b", multipart(*[part('a="' + '\\"' * (2_000))] * 100)),
        (MULTIPART + "; boundary=b", multipart(part('name="a"' + '; x="\\"' * 1200)) * 100),
        *((URLENCODED, (sign * JSON_BODY)[:JSON_BODY]) for sign in (b"%", b"a=%", b"%41a", b"%C3%A9")),
        (URLENCODED, (b"a=" + b"%41a" * 2_000 + b"&") * 900),
    ],
    ids=lambda value: "" if isinstance(value, str) else repr(value[:20]),
)
def test_what_is_made_to_take_long_does_not(kind, body):
    began = time.process_time()
    with contextlib.suppress(ApiError):
        parse_fields(kind, body)
    assert time.process_time() - began < 2
