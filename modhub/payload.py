"""What a request carries: its body as bytes, text or declared JSON, its query parameters; and JSON on the way out.

One gate settles for the whole service what a bad body answers (C-ERR-11, C-ERR-8, C-UP-1; T-D4): a
:class:`modhub.errors.ApiError` of 400 that names the field, or 413 with ``limitBytes``; never a 500.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from threading import Lock
from typing import Any, BinaryIO, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from webob.request import DisconnectionError

from modhub import errors, limits
from modhub.http.forms import media_type_of
from modhub.http.json_shape import check_shape

_Model = TypeVar("_Model", bound=msgspec.Struct)

# What the server leaves in the environ about the body that it took, or did not take.
LIMIT_EXCEEDED = "modhub.body_limit_exceeded"
FAILED = "modhub.body_failed"
BUSY = "modhub.body_busy"
STATE = "modhub.body"
UNREAD = "unread"
EXPECTED = "expected"

_CHUNK = 256 * limits.KB
_LARGE = 256 * limits.KB
_large_ones = Lock()
"""Large JSON bodies are judged one after the other: several at once leave little of the interpreter to readers."""

_A_FORM = "The body must be the file itself, not a multipart form; with curl: --data-binary @file, not -F."
_MARKED = "The body begins with a byte order mark, which JSON does not have."
_NOT_JSON = "The body is not JSON."
_NO_OBJECT = "The body must be a JSON object."

_AT = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")
_STEP = re.compile(r"\.(?P<field>[^.\[\]]+)|\[(?P<item>[0-9]+)\]|\[\.\.\.\]")
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`(?P<bound> of length [^,`]+| [<>]=? ?[^,`]+| matching .+)?(?:, got .*)?"
)
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


class Message(Protocol):
    """The part of a request that this module reads; WebOb's and Pyramid's requests have it."""

    @property
    def environ(self) -> dict[str, Any]:
        """The WSGI environ."""

    @property
    def body_file(self) -> Any:
        """``wsgi.input``, ending where ``Content-Length`` says."""

    @property
    def content_length(self) -> int | None:
        """The length that the client, or the server after a chunked body, names."""


def body_stream(request: Message, limit: int) -> BinaryIO:
    """The request's body as a stream that ends where the body ends; for at most ``limit`` bytes.

    Refuses at once what is known by now: 413 when the server stopped at a limit or the length named is over ``limit``,
    502 when the server could not keep the body, 503 when it keeps too much already, 400 for a body that was left unread
    and for a content coding. A large body, and one that the client holds back (``Expect: 100-continue``), is taken only
    once a view comes here: see `modhub.errors.ContinueExpected`. Who reads the stream counts for himself; it raises
    `OSError` when the client hangs up in the middle.
    """
    environ = request.environ
    passed = environ.get(LIMIT_EXCEEDED)
    if passed is not None:
        raise errors.too_large(int(passed))
    if environ.get(FAILED):
        raise errors.storage_refused()
    if environ.get(BUSY):
        raise errors.busy()
    if environ.get(STATE) == UNREAD:
        raise errors.invalid("The body of the request was not read.")
    coding = environ.get("HTTP_CONTENT_ENCODING", "").strip(" \t").lower()
    if coding not in {"", "identity"}:
        raise errors.invalid("The body must come without a Content-Encoding.")
    length = request.content_length
    if length is not None and length < 0:
        raise errors.invalid("The Content-Length is not a length.")
    if length is not None and length > limit:
        raise errors.too_large(limit)
    if environ.get(STATE) == EXPECTED:
        raise errors.ContinueExpected
    stream: BinaryIO = request.body_file
    return stream


def raw_stream(request: Message, limit: int) -> BinaryIO:
    """As :func:`body_stream`, of a body that is the file itself: 400 for a multipart one, before anything is read.

    What a form wraps around the file would be stored and given out with it, and looks like success to who sent it.
    """
    if media_type_of(request.environ.get("CONTENT_TYPE", "")).startswith("multipart/"):
        raise errors.invalid(_A_FORM)
    return body_stream(request, limit)


def read_body(request: Message, limit: int) -> bytes:
    """The whole body; 413 as soon as it passes ``limit`` bytes, besides what :func:`body_stream` refuses."""
    return _read(body_stream(request, limit), limit)


def _read(stream: BinaryIO, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > limit:
                raise errors.too_large(limit)
            parts.append(part)
    except DisconnectionError as error:
        raise errors.invalid("The body ended before its Content-Length.") from error
    return b"".join(parts)


def read_text(request: Message, limit: int) -> str:
    """The whole body as UTF-8 text, else 400, as for a form; a byte order mark at its start is no part of it."""
    try:
        return _read(raw_stream(request, limit), limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.invalid("The body is not UTF-8.") from error


def read_json(request: Message, model: type[_Model], limit: int = limits.JSON_BODY) -> _Model:
    """The body of at most ``limit`` bytes as ``model``, whatever its ``Content-Type`` (C-ERR-11).

    ``null`` for an optional field means "not sent": the field gets its default. For that it is declared to take it,
    ``games: list[str] | msgspec.UnsetType | None = msgspec.UNSET``. Fields named in the model's class attribute
    ``nullable: ClassVar[frozenset[str]]`` keep the ``None``. Unknown fields are ignored; of doubled ones the last
    counts.
    """
    body = read_body(request, limit)
    with _large_ones if len(body) > _LARGE else nullcontext():
        return decode(body, model)


def decode(body: bytes, model: type[_Model]) -> _Model:
    """The JSON object ``body`` as ``model``, by the rules of :func:`read_json`; else a refusal of 400."""
    check_shape(body)
    try:
        found = msgspec.json.decode(body, type=model)
    except msgspec.ValidationError:
        found = _last_of_each(body, model)
    except (ValueError, RecursionError) as error:
        # Its readers may pass over a byte order mark, its writers must not send one (RFC 8259, 8.1).
        raise errors.invalid(_MARKED if body.startswith(BOM_UTF8) else _NOT_JSON) from error
    kept: frozenset[str] = getattr(model, "nullable", frozenset())
    for field in msgspec.structs.fields(model):
        if getattr(found, field.name) is None and field.name not in kept and not field.required:
            unset = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            msgspec.structs.force_setattr(found, field.name, unset)
    return found


def query(request: Message, name: str) -> str | None:
    """The last value of the query parameter ``name``, or None; bytes that are not UTF-8 become U+FFFD."""
    sent = request.environ.get("QUERY_STRING", "")
    if not sent:
        return None
    wanted = name.encode()
    for pair in reversed(sent.encode("latin-1", "replace").split(b"&")):
        key, _, value = pair.partition(b"=")
        if _plain(key) == wanted:
            return _plain(value).decode("utf-8", "replace")
    return None


def encode(value: object) -> bytes:
    """``value`` as JSON in UTF-8: Structs, dicts, lists and plain values; unset fields are left out."""
    return msgspec.json.encode(value)


def _plain(part: bytes) -> bytes:
    part = part.replace(b"+", b" ")
    return unquote_to_bytes(part) if b"%" in part else part


@cache
def _unread(model: type[_Model]) -> type[msgspec.Struct]:
    """A struct of the same fields that keeps each value as it stands in the body."""
    fields = [(field.name, msgspec.Raw, msgspec.Raw()) for field in msgspec.structs.fields(model)]
    names = {field.name: field.encode_name for field in msgspec.structs.fields(model)}
    return msgspec.defstruct("Unread", fields, rename=names)


def _last_of_each(body: bytes, model: type[_Model]) -> _Model:
    """The body again without the values that a later one of the same name replaces, or the refusal for it."""
    names = [field.encode_name for field in msgspec.structs.fields(model)]
    try:
        values = zip(names, msgspec.structs.astuple(msgspec.json.decode(body, type=_unread(model))), strict=True)
        sent = [msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in values if bytes(raw)]
        return msgspec.json.decode(b"{" + b",".join(sent) + b"}", type=model)
    except msgspec.ValidationError as error:
        raise errors.invalid(_sentence(str(error))) from error
    except (ValueError, RecursionError) as error:
        raise errors.invalid(_NOT_JSON) from error


def _sentence(message: str) -> str:
    """What msgspec says about a value, in words that name the field: ``The field title must be a string.``"""
    at = _AT.search(message)
    subject = "".join(_steps(at["path"])) if at else ""
    said = message[: at.start()] if at else message
    if found := _MISSING.fullmatch(said):
        return (
            f"{subject}, field {found['field']}, is missing." if subject else f"The field {found['field']} is missing."
        )
    found = _EXPECTED.fullmatch(said)
    if not subject:
        return _NO_OBJECT if found else "The body has a value that is not allowed."
    comma = "," if ", " in subject else ""
    if found and not found["bound"]:
        kinds = [_KINDS.get(kind, kind) for kind in found["kinds"].split(" | ") if kind != "null"]
        return f"{subject}{comma} must be {' or '.join(kinds)}."
    return f"{subject}{comma} has a value that is not allowed."


def _steps(path: str) -> Iterator[str]:
    for number, step in enumerate(_STEP.finditer(path)):
        if number == 0 and step["field"]:
            yield f"The field {step['field']}"
        elif step["field"]:
            yield f", field {step['field']}"
        elif step["item"]:
            yield f", item {int(step['item']) + 1}"
        else:
            yield ", an entry"
