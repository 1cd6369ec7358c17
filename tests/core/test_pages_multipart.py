"""Streamed multipart forms: every byte of the file arrives, however the body is split."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modhub.base.errors import ApiError
from modhub.web.forms import MAX_FORM_FIELDS, MultipartReader

BOUNDARY = b"----boundary7"
PIECES = st.sampled_from([b"\r\n", b"--", BOUNDARY, b"\r\n--", b"\r\n--" + BOUNDARY[:-1], b"x", b"\r", b"\n", b"-"])


class Drips(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def __init__(self, body, most):
        super().__init__(body)
        self.most = most

    def read(self, size=-1):
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


def body(*parts):
    made = b"".join(b"--" + BOUNDARY + b"\r\n" + head.encode() + b"\r\n\r\n" + data + b"\r\n" for head, data in parts)
    return made + b"--" + BOUNDARY + b"--\r\n"


def whole(parts, size):
    return b"".join(iter(lambda: parts.read(size), b""))


def head(name, file_name=None):
    return f'Content-Disposition: form-data; name="{name}"' + ("" if file_name is None else f'; filename="{file_name}"')


@given(
    data=st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=12).map(b"".join)),
    drip=st.integers(1, 40),
    size=st.integers(1, 60),
)
def test_the_file_arrives_as_it_was(data, drip, size):
    if b"\r\n--" + BOUNDARY in b"\r\n" + data + b"\r\n":
        return  # no sender may choose such a boundary
    sent = body(
        (head("version"), b"1"), (head("file", "a.zip") + "\r\nContent-Type: application/zip", data), (head("x"), b"")
    )
    parts = MultipartReader(Drips(sent, drip), BOUNDARY)
    assert parts.next()
    assert (parts.name, parts.file_name, whole(parts, size)) == ("version", None, b"1")
    assert parts.next()
    assert (parts.file_name, parts.content_type) == ("a.zip", "application/zip")
    assert whole(parts, size) == data
    assert parts.next()
    assert whole(parts, size) == b""
    assert not parts.next()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"no boundary at all",
        body((head("file", "a"), b"data"))[:-30],
        body((head("file", "a") + "\r\nX: " + "x" * 5_000, b"data")),
        body((head("file", "a"), b"data")).replace(b"\r\n", b"\n"),
    ],
)
def test_what_is_cut_off_or_no_form_is_refused(sent):
    parts = MultipartReader(io.BytesIO(sent), BOUNDARY)

    def read_all():
        while parts.next():
            whole(parts, 100)

    with pytest.raises(ApiError) as caught:
        read_all()
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("naïve 猫.zip", "naïve 猫.zip"),
        ("a%22b.zip", 'a"b.zip'),
        # Old browsers of Windows send the whole path.
        ("C:\\x.zip", "x.zip"),
        ("", ""),
    ],
)
def test_file_names_are_read_as_browsers_write_them(sent, read):
    parts = MultipartReader(io.BytesIO(body((head("file", sent), b""))), BOUNDARY)
    assert parts.next()
    assert parts.file_name == read


@pytest.mark.parametrize("behind", [b"", b"\r\n--" + BOUNDARY + b"\r\n"])
def test_what_follows_the_last_part_is_no_matter(behind):
    sent = body((head("file", "a"), b"data")).removesuffix(b"\r\n") + behind
    parts = MultipartReader(Drips(sent, 1), BOUNDARY)
    assert parts.next()
    assert whole(parts, 100) == b"data"
    assert not parts.next()
    assert not parts.next()


def test_a_form_has_no_more_parts_than_a_limit():
    for count in (MAX_FORM_FIELDS, MAX_FORM_FIELDS + 1):
        parts = MultipartReader(io.BytesIO(body(*[(head("x"), b"")] * count)), BOUNDARY)
        for _ in range(MAX_FORM_FIELDS):
            assert parts.next()
        if count == MAX_FORM_FIELDS:
            assert not parts.next()
        else:
            with pytest.raises(ApiError, match="too many fields"):
                parts.next()
