"""Reading of bodies and query parameters."""

import io
import threading
from typing import Annotated, ClassVar, Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from pyramid.request import Request

from modhub.base.errors import ApiError
from modhub.content import limits
from modhub.web import payload


class Sample(msgspec.Struct, rename="camel"):
    title: str
    description: str | UnsetType | None = UNSET
    games: list[str] | UnsetType | None = UNSET
    vote_value: Literal[1, 0, -1] | UnsetType | None = UNSET
    format: Annotated[Literal["text", "html"] | None, msgspec.Meta(description="What it is")] = None
    count: int | None = None
    ratio: float | UnsetType | None = UNSET
    flag: bool | UnsetType | None = UNSET
    tags: list[str] | None = msgspec.field(default_factory=list)


class Edit(msgspec.Struct, frozen=True):
    nullable: ClassVar[frozenset[str]] = frozenset({"title"})
    title: str | UnsetType | None = UNSET
    text: str | UnsetType | None = UNSET


class Bounded(msgspec.Struct):
    item: Edit | UnsetType | None = UNSET
    items: list[Edit] | UnsetType | None = UNSET
    table: dict[str, int] | UnsetType | None = UNSET


def post(body, **environ):
    return Request.blank("/", environ, method="POST", body=body)


def streamed(body, **environ):
    """A request whose body comes without its length, unless ``environ`` has one."""
    request = Request.blank("/", method="POST")
    request.environ.update({"wsgi.input": io.BytesIO(body), **environ})
    return request


def refused(read, *arguments):
    """The status, the message and what else the refusal says."""
    with pytest.raises(ApiError) as caught:
        read(*arguments)
    return caught.value.status, caught.value.message, caught.value.extra


def refusal(body, model=Sample):
    status, message, _ = refused(payload.read_json, post(body), model)
    assert status == 400
    return message


def test_a_body_becomes_its_model():
    # C-ERR-13
    sample = payload.read_json(post('{"title":"é\\u0000\\ud83d\\ude00","voteValue":-1,"x":[{}]}'.encode()), Sample)
    assert (sample.title, sample.vote_value, sample.games, sample.count) == ("é\0😀", -1, UNSET, None)


def test_the_content_type_does_not_matter():
    # C-ERR-13; none, and text: modhub-verify.
    assert payload.read_json(post(b' {"title":"x"}\n', CONTENT_TYPE="multipart/form-data"), Sample).title == "x"


def test_null_means_not_sent():
    # C-ERR-13
    body = b'{"title":"x","description":null,"games":null,"voteValue":null,"count":null,"flag":null,"tags":null}'
    assert payload.read_json(post(body), Sample) == Sample("x")
    body = b'{"title":null,"text":null}'
    assert payload.read_json(post(body), Edit) == Edit(title=None, text=UNSET)
    assert payload.read_json(post(b"{}"), Edit) == Edit(UNSET, UNSET)


def test_the_last_of_doubled_fields_counts():
    # C-ERR-13
    assert payload.read_json(post(b'{"title":[{"a":"]"}],"\\u0074itle":"b"}'), Sample).title == "b"
    assert refusal(b'{"title":"b","title":1}') == "The field title must be a string."


NOT_JSON = "The body is not JSON."
NO_BODY = "The body is empty; send a JSON object."
HALF = "The body has half of a character: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff."
NEAR = "The body is not JSON: there is an error near byte %s."
NOT_UTF8 = "The body is not UTF-8."
NO_OBJECT = "The body must be a JSON object."
TOO_DEEP = "The JSON in the body nests deeper than 64 levels."


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", NO_BODY),
        (b"title=x", NEAR % 4),
        (b'{"title":"x"', NOT_JSON),
        (b'{"title":"x","y":NaN}', NEAR % 17),
        (b'\xef\xbb\xbf{"title":"x"}', "The body begins with a byte order mark, which JSON does not have."),
        (b'{"title":"\\ud800"}', HALF),
        (b'{"title":"\\udc00"}', NEAR % 16),
        (b'{"title":"\xff"}', NOT_UTF8),
        (b"[]", NO_OBJECT),
        (b"{}", "The field title is missing."),
        (b'{"title":null}', "The field title must be a string."),
        (b'{"title":"x","games":"y"}', "The field games must be a list."),
        (b'{"title":"x","games":["a","b",3]}', "The field games, item 3, must be a string."),
        (b'{"title":"x","flag":1}', "The field flag must be true or false."),
        (b'{"title":"x","count":"1"}', "The field count must be a whole number."),
        (b'{"title":"x","count":' + b"9" * 100_000 + b"}", "The field count has a value that is not allowed."),
        (b'{"title":"x","ratio":1e400}', "The field ratio has a value that is not allowed."),
        (b'{"title":"x","voteValue":5}', "The field voteValue must be 1, 0 or -1."),
        (b'{"title":"x","format":"rtf"}', "The field format must be text or html."),
        (b'{"title":"x","y":' + b'{"a":' * 64 + b"1" + b"}" * 65, TOO_DEEP),
        (b'{"title":"x","y":' + b"[" * 64 + b"]" * 64 + b"}", TOO_DEEP),
    ],
)
def test_a_bad_body_is_400_with_a_sentence(body, sentence):
    # C-ERR-10, T-D4
    assert refusal(body) == sentence


def test_nested_fields_are_named():
    assert refusal(b'{"item":{"text":1}}', Bounded) == "The field item, field text, must be a string."
    assert refusal(b'{"items":[{},{"text":1}]}', Bounded) == "The field items, item 2, field text, must be a string."
    assert refusal(b'{"table":{"k":"v"}}', Bounded) == "The field table, an entry, must be a whole number."


@given(body=st.binary(max_size=60) | st.text('{}[]",:\\u0d8titlegamsnN1e-+. \x00é', max_size=60).map(str.encode))
@settings(deadline=None, max_examples=300)
def test_no_bytes_give_anything_but_the_model_or_400(body):
    for candidate in (body, b'{"title":' + body + b"}", b'{"title":"x","games":' + body + b"}"):
        try:
            payload.read_json(post(candidate), Sample)
        except ApiError as error:
            assert error.status == 400  # noqa: PT017 - it may also be taken


def test_json_over_8_mb_is_413():
    # C-ERR-12
    whole = b'{"title":"' + b"x" * (limits.JSON_BODY - 12) + b'"}'
    assert len(whole) == 8 * 1024 * 1024
    assert len(payload.read_json(post(whole), Sample).title) == limits.JSON_BODY - 12
    assert refused(payload.read_json, post(whole + b" "), Sample)[::2] == (413, {"limitBytes": 8 * 1024 * 1024})


def test_a_body_is_counted_as_it_arrives():
    whole, more = (streamed(b"x" * size, **{"wsgi.input_terminated": True}) for size in (1_000_000, 1_000_001))
    assert payload.read_body(whole, 1_000_000) == b"x" * 1_000_000
    assert refused(payload.read_body, more, 1_000_000)[::2] == (413, {"limitBytes": 1_000_000})


def test_a_length_over_the_limit_is_413_before_anything_is_read():
    request = streamed(b"x", CONTENT_LENGTH="100")
    assert refused(payload.body_stream, request, 99)[::2] == (413, {"limitBytes": 99})
    assert request.environ["wsgi.input"].tell() == 0


@pytest.mark.parametrize("length", ["10", "-1"])
def test_a_body_that_is_not_as_long_as_it_says_is_400(length):
    assert refused(payload.read_body, streamed(b"short", CONTENT_LENGTH=length), 100)[0] == 400


@pytest.mark.parametrize("length", [{}, {"CONTENT_LENGTH": "0"}, {"CONTENT_LENGTH": "x"}])
def test_no_body_is_an_empty_body(length):
    assert payload.read_body(streamed(b"the next request", **length), 100) == b""


@pytest.mark.parametrize(
    ("left", "status", "extra"),
    [
        ({"modhub.body_limit_exceeded": 0}, 413, {"limitBytes": 0}),
        ({"modhub.body_failed": True}, 502, {}),
        ({"modhub.body": "unread"}, 400, {}),
        ({"HTTP_CONTENT_ENCODING": "gzip"}, 400, {}),
        ({"HTTP_CONTENT_ENCODING": "identity, gzip"}, 400, {}),
    ],
)
def test_what_the_server_left_is_obeyed(left, status, extra):
    for read in (payload.body_stream, payload.read_body, payload.read_text):
        assert refused(read, post(b"{}", **left), 1000)[::2] == (status, extra)
    assert refused(payload.read_json, post(b"{}", **left), Edit)[0] == status


@pytest.mark.parametrize("state", [{}, {payload.STATE: payload.EXPECTED}, {payload.LIMIT_EXCEEDED: 10}])
def test_a_form_where_a_file_should_be_is_refused_before_it_is_awaited(state):
    environ = {"CONTENT_TYPE": "multipart/form-data; boundary=B", **state}
    for read in (payload.raw_stream, payload.read_text):
        status, message, _ = refused(read, post(b"--B--", **environ), 10)
        assert (status, "the file itself" in message) == (400, True)


def test_text_is_utf8():
    assert payload.read_text(post("é\r\n\0".encode()), 10) == "é\r\n\0"
    assert payload.read_text(post(b"\xef\xbb\xbfx"), 10) == "x"
    assert payload.read_text(post(b""), 10) == ""
    for bad in (b"\xff", b"\xed\xa0\x80", "é".encode("utf-16")):
        assert refused(payload.read_text, post(bad), 10)[:2] == (400, NOT_UTF8)


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ("", None),
        ("q=", ""),
        ("x=1&q=caf%C3%A9+%2B", "café +"),
        ("q=1&q=2", "2"),
        ("q=%zz", "%zz"),
        ("q=caf\xc3\xa9", "café"),
        ("q=%00%ED%A0%80", "\0\ufffd\ufffd\ufffd"),
    ],
)
def test_a_query_parameter(sent, value):
    assert payload.query(Request.blank("/", {"QUERY_STRING": sent}), "q") == value


def test_large_bodies_are_judged_one_after_the_other_and_small_ones_beside_them(monkeypatch):
    going = []
    most = []
    small_done, decode = threading.Event(), payload.decode

    def watched(body, model):
        if len(body) > 1000:
            going.append(1)
            most.append(len(going))
            assert small_done.wait(20)
            going.pop()
        return decode(body, model)

    monkeypatch.setattr(payload, "decode", watched)
    large = b'{"title":"' + b"x" * 300_000 + b'"}'
    threads = [threading.Thread(target=payload.read_json, args=(post(large), Sample)) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert payload.read_json(post(b'{"title":"x"}'), Sample).title == "x"
    small_done.set()
    for thread in threads:
        thread.join(20)
    assert most == [1, 1, 1, 1]
