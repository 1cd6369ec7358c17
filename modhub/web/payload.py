"""Reading requests: bodies as bytes, text or declared JSON, and query parameters; and encoding JSON.

Bad bodies get the same errors everywhere (C-ERR-10, C-ERR-8, C-UP-1; T-D4): a `ApiError` of 400
that names the field, or 413 with ``limitBytes``; never a 500.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import nullcontext
from functools import cache
from threading import Lock
from typing import BinaryIO, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import unquote_to_bytes

import msgspec
from pyramid.request import Request
from pyramid.response import Response
from webob.request import DisconnectionError

from modhub.base import errors
from modhub.content import limits
from modhub.web.forms import media_type_of
from modhub.web.json_shape import check_shape

_Model = TypeVar("_Model", bound=msgspec.Struct)

# The server's notes in the environ about the body that it read, or did not read.
LIMIT_EXCEEDED = "modhub.body_limit_exceeded"
FAILED = "modhub.body_failed"
BUSY = "modhub.body_busy"
STATE = "modhub.body"
UNREAD = "unread"
EXPECTED = "expected"

_CHUNK = 256 * limits.KB
_LARGE_JSON = 256 * limits.KB
_large_json_lock = Lock()
_MULTIPART_BODY = "The body must be the file itself, not a multipart form; with curl: --data-binary @file, not -F."
_BYTE_ORDER_MARK = "The body begins with a byte order mark, which JSON does not have."
_NOT_JSON = "The body is not JSON."
_NO_BODY = "The body is empty; send a JSON object."
_HALF_CHARACTER = "The body has half of a character: \\ud800 to \\udbff must be followed by \\udc00 to \\udfff."
_NEAR = re.compile(r" \(byte (?P<position>[0-9]+)\)\Z")
# What a program sends that cuts a text between the two halves of an emoji.
_LONE_HALF = re.compile(rb"\\u[dD][89aAbB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])")
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


def body_stream(request: Request, limit: int, too_large: str = errors.BODY_TOO_LARGE) -> BinaryIO:
    """The request's body as a stream that ends where the body ends; for at most ``limit`` bytes.

    Raises at once for what is known by now: 413 if the server stopped at a limit or the announced length is over
    ``limit``, 502 if the server could not store the body, 503 if it already stores too much, 400 for a body that was
    left unread and for a content coding. A large body, and one that the client holds back (``Expect: 100-continue``),
    is read only once a view calls this: see `modhub.base.errors.RunAgain`. The caller counts the bytes that it
    reads. Reading raises `OSError` if the client hangs up. ``too_large`` is what a 413 says.
    """
    environ = request.environ
    exceeded_limit = environ.get(LIMIT_EXCEEDED)
    if exceeded_limit is not None:
        raise errors.too_large(int(exceeded_limit), too_large)
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
        raise errors.invalid("The Content-Length is not a valid number.")
    if length is not None and length > limit:
        raise errors.too_large(limit, too_large)
    if environ.get(STATE) == EXPECTED:
        raise errors.RunAgain(100)
    stream: BinaryIO = request.body_file
    return stream


def raw_stream(request: Request, limit: int) -> BinaryIO:
    """As :func:`body_stream`, for a body that is the file itself: 400 for a multipart one, before anything is read.

    Otherwise the form around the file would be stored and served with it, while the sender sees a success.
    """
    if media_type_of(request.environ.get("CONTENT_TYPE", "")).startswith("multipart/"):
        raise errors.invalid(_MULTIPART_BODY)
    return body_stream(request, limit, errors.UPLOAD_TOO_LARGE)


def read_body(request: Request, limit: int) -> bytes:
    """The whole body; 413 as soon as it exceeds ``limit`` bytes, plus the errors of :func:`body_stream`."""
    return _read(body_stream(request, limit), limit, errors.BODY_TOO_LARGE)


def _read(stream: BinaryIO, limit: int, too_large: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    try:
        while chunk := stream.read(_CHUNK):
            size += len(chunk)
            if size > limit:
                raise errors.too_large(limit, too_large)
            chunks.append(chunk)
    except DisconnectionError as error:
        raise errors.invalid("The body ended before its Content-Length.") from error
    return b"".join(chunks)


def read_text(request: Request, limit: int) -> str:
    """The whole body as UTF-8 text, otherwise 400, as for a form; a leading byte order mark is dropped."""
    try:
        return _read(raw_stream(request, limit), limit, errors.UPLOAD_TOO_LARGE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise errors.invalid("The body is not UTF-8.") from error


def read_json(request: Request, model: type[_Model], limit: int = limits.JSON_BODY) -> _Model:
    """The body of at most ``limit`` bytes as ``model``, whatever its ``Content-Type`` (C-ERR-10).

    ``null`` for an optional field means "not sent": the field gets its default. Such a field is declared as
    ``games: list[str] | msgspec.UnsetType | None = msgspec.UNSET``. Fields named in the model's class attribute
    ``nullable: ClassVar[frozenset[str]]`` keep the ``None``. Unknown fields are ignored; of duplicates the last counts.
    """
    return decode_in_turn(read_body(request, limit), model)


def decode_in_turn(body: bytes, model: type[_Model]) -> _Model:
    """As :func:`decode`. Large bodies are parsed one after the other: several at once would block readers."""
    with _large_json_lock if len(body) > _LARGE_JSON else nullcontext():
        return decode(body, model)


def decode(body: bytes, model: type[_Model]) -> _Model:
    """The JSON object ``body`` as ``model``, by the rules of :func:`read_json`; otherwise 400."""
    check_shape(body)
    try:
        document = msgspec.json.decode(body, type=model)
    except msgspec.ValidationError:
        document = _decode_last_of_duplicates(body, model)
    except (ValueError, RecursionError) as error:
        raise errors.invalid(_what_is_not_json(body, str(error))) from error
    nullable: frozenset[str] = getattr(model, "nullable", frozenset())
    for field in msgspec.structs.fields(model):
        if getattr(document, field.name) is None and field.name not in nullable and not field.required:
            default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
            msgspec.structs.force_setattr(document, field.name, default)
    return document


def query(request: Request, name: str) -> str | None:
    """The last value of the query parameter ``name``, or None; bytes that are not UTF-8 become U+FFFD."""
    query_string = request.environ.get("QUERY_STRING", "")
    if not query_string:
        return None
    encoded_name = name.encode()
    for pair in reversed(query_string.encode("latin-1", "replace").split(b"&")):
        key, _, value = pair.partition(b"=")
        if _unquote_plus(key) == encoded_name:
            return _unquote_plus(value).decode("utf-8", "replace")
    return None


def query_number(request: Request, name: str = "page", default: int = 1, maximum: int = 10**9) -> int:
    """The whole number in the query, within 1 and ``maximum``; the default for anything else (C-LIST-2)."""
    value = query(request, name) or ""
    if not re.fullmatch("-?[0-9]+", value):
        return default
    # Ten digits are above any maximum, and more of them cost Python more and more.
    return min(max(int(value.lstrip("0")[:10] or "0"), 1), maximum)


def encode(value: object) -> bytes:
    """``value`` as JSON in UTF-8: Structs, dicts, lists and plain values; unset fields are left out."""
    return msgspec.json.encode(value)


def json_response(value: object, status: int = 200) -> Response:
    """A response with ``value`` as JSON, which no cache keeps."""
    return Response(encode(value), status, content_type="application/json", charset=None, cache_control="no-store")


def _unquote_plus(encoded: bytes) -> bytes:
    encoded = encoded.replace(b"+", b" ")
    return unquote_to_bytes(encoded) if b"%" in encoded else encoded


@cache
def _raw_fields_decoder(model: type[_Model]) -> "msgspec.json.Decoder[msgspec.Struct]":
    """Decodes into a struct with the same fields, each value as raw JSON."""
    fields = [(field.name, msgspec.Raw, msgspec.Raw()) for field in msgspec.structs.fields(model)]
    names = {field.name: field.encode_name for field in msgspec.structs.fields(model)}
    return msgspec.json.Decoder(msgspec.defstruct("Unread", fields, rename=names))


def _decode_last_of_duplicates(body: bytes, model: type[_Model]) -> _Model:
    """Decode again with only the last value of each duplicate field, or raise the error for it."""
    names = [field.encode_name for field in msgspec.structs.fields(model)]
    try:
        raw_fields = _raw_fields_decoder(model).decode(body)
        values = zip(names, msgspec.structs.astuple(raw_fields), strict=True)
        pairs = [msgspec.json.encode(name) + b":" + bytes(raw) for name, raw in values if bytes(raw)]
        return msgspec.json.decode(b"{" + b",".join(pairs) + b"}", type=model)
    except msgspec.ValidationError as error:
        raise errors.invalid(_sentence(str(error), model)) from error
    except (ValueError, RecursionError) as error:
        raise errors.invalid(_NOT_JSON) from error


def _what_is_not_json(body: bytes, message: str) -> str:
    """What a client most likely did wrong; ``message`` is msgspec's error."""
    if not body.strip():
        return _NO_BODY
    # Readers may ignore a byte order mark, but writers must not send one (RFC 8259, 8.1).
    if body.startswith(BOM_UTF8):
        return _BYTE_ORDER_MARK
    if _LONE_HALF.search(body):
        return _HALF_CHARACTER
    near = _NEAR.search(message)
    return f"The body is not JSON: there is an error near byte {near['position']}." if near else _NOT_JSON


def _sentence(message: str, model: type[msgspec.Struct]) -> str:
    """msgspec's error as a sentence that names the field: ``The field title must be a string.``"""
    location = _AT.search(message)
    subject = "".join(_steps(location["path"])) if location else ""
    problem = message[: location.start()] if location else message
    if match := _MISSING.fullmatch(problem):
        return (
            f"{subject}, field {match['field']}, is missing." if subject else f"The field {match['field']} is missing."
        )
    match = _EXPECTED.fullmatch(problem)
    if not subject:
        return "The body must be a JSON object." if match else "The body has a value that is not allowed."
    comma = "," if ", " in subject else ""
    if match and not match["bound"]:
        kinds = [_KINDS.get(kind, kind) for kind in match["kinds"].split(" | ") if kind != "null"]
        return f"{subject}{comma} must be {' or '.join(kinds)}."
    if location and (choices := _choices(model, location["path"].removeprefix("."))):
        return f"{subject}{comma} must be {', '.join(choices[:-1])} or {choices[-1]}."
    return f"{subject}{comma} has a value that is not allowed."


def _choices(model: type[msgspec.Struct], name: str) -> list[str]:
    """The values that the field ``name`` of ``model`` may have, if these are some words or numbers (`Literal`)."""
    hints = get_type_hints(model)
    kinds = [hints[field.name] for field in msgspec.structs.fields(model) if field.encode_name == name]
    literals = [part for kind in kinds for part in (kind, *get_args(kind)) if get_origin(part) is Literal]
    return [str(value) for literal in literals for value in get_args(literal)]


def _steps(path: str) -> Iterator[str]:
    for index, step in enumerate(_STEP.finditer(path)):
        if index == 0 and step["field"]:
            yield f"The field {step['field']}"
        elif step["field"]:
            yield f", field {step['field']}"
        elif step["item"]:
            yield f", item {int(step['item']) + 1}"
        else:
            yield ", an entry"
