"""One request as it arrives: waitress's parser, stricter about the head, and with a decision about the body (C-ERR-20).

A request may end *early*, before its body is read. Then its input is empty, nothing after it on the connection is a
request, what still arrives is discarded so that the response gets through, and a note in the environ says why:

* ``modhub.body`` = ``"unread"``: the credential that the address requires is absent,
* ``modhub.body`` = ``"expected"``: the body is read only if the application answers 100,
* ``modhub.body_limit_exceeded`` = the limit in bytes, by length or as the body arrived,
* ``modhub.body_failed`` = True: the body could not be spooled (full disk),
* ``modhub.body_busy`` = True: all bodies together have reached their limit.
"""

import contextlib
import copy
import logging
import re
from typing import Any, Final

from waitress.parser import HTTPRequestParser, ParsingError, TransferEncodingNotImplemented
from waitress.receiver import ChunkedReceiver
from waitress.utilities import BadRequest

from modhub.base.body_rules import ASKED_ABOVE_BYTES
from modhub.base.repeated_lines import log_alarm

_ONCE: Final = frozenset({b"content-length", b"content-type", b"host", b"transfer-encoding"})
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
_REQUEST_LINE: Final = re.compile(rb"([^ a-z]+) (?:(?i:https?)://([^/?# ]+)(?=[/?#]|[ ])|(?=/))([^ ]*) HTTP/(1\.[01])")
_HOST: Final = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+)(?::[0-9]{0,5})?")
_SLICE: Final = 4096
_FREE_FRAMING: Final = 65536
logger = logging.getLogger("modhub.server")


class ChunkedBody(ChunkedReceiver):
    """A chunked body whose framing is bounded: 64 KB, and a quarter of the content.

    waitress's copies the rest of its input for each chunk: one byte a chunk would stall the loop, so it gets little at
    a time.
    """

    error: Any

    def __init__(self, buffer: Any) -> None:
        super().__init__(buffer)
        self._raw_bytes = 0

    def received(self, s: bytes) -> int:
        """Decode ``s``; returns how many of its bytes belong to this body."""
        consumed = 0
        while consumed < len(s) and self.error is None and not self.completed:
            consumed += super().received(s[consumed : consumed + _SLICE])
        self._raw_bytes += consumed
        if self._raw_bytes > _FREE_FRAMING + len(self) + len(self) // 4:
            self.error = BadRequest("The chunked body has more framing than content.")
        return consumed


class Request(HTTPRequestParser):
    """waitress's request, which may end early."""

    body_rcv: Any
    content_length: int
    error: Any
    expect_continue: bool
    command = path = ""
    final = False
    """Whether it ended early: nothing after it on the connection is a request."""
    asks = False
    """Whether the application is asked before the body is read."""
    held_back = False
    """Whether the client waits for a 100 until the application has been asked."""
    waits = False
    """Whether it may wait for its turn (`BodyRule.waits`)."""
    is_large = False
    """Whether it runs in the thread of large responses."""
    credential: str | None = None
    _runs_again = False
    _limit = _counted = 0

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.notes: dict[str, object] = {}

    def parse_header(self, header_plus: bytes) -> None:
        """Parse the head, then decide about the body."""
        self.command = "HEAD" if header_plus.startswith(b"HEAD ") else ""  # an error has no body then either
        super().parse_header(_strict_head(header_plus))
        if self.body_rcv is not None:
            self._decide_about_body()

    def _decide_about_body(self) -> None:
        rule = self.adj.find_rule(self.command, self.path)
        self._limit, self.credential, self.waits = rule.limit, rule.credential, rule.waits
        size = rule.limit if self.chunked else self.content_length
        if rule.credential is not None and rule.credential.upper().replace("-", "_") not in self.headers:
            self.refuse({"modhub.body": "unread"})
        elif size > rule.limit:
            self.refuse({"modhub.body_limit_exceeded": rule.limit})
        else:
            if self.chunked:
                self.body_rcv = ChunkedBody(self.body_rcv.getbuf())
            is_held_back = self.expect_continue and rule.credential is not None
            self.asks = self.adj.rules is not None and (size > ASKED_ABOVE_BYTES or is_held_back)
            if self.asks:
                self.held_back, self.expect_continue = self.expect_continue, False

    def refuse(self, notes: dict[str, object]) -> None:
        """End the request early."""
        self.close()
        self.body_rcv, self.content_length, self.expect_continue = None, 0, False
        self.headers["CONTENT_LENGTH"] = "0"
        self.notes = notes
        self.final = self.completed = True

    def fail(self, error: Any) -> None:
        """End the request with a response of the server's own; ``error`` is one of waitress's."""
        self.refuse({})
        self.error = error

    def received(self, data: bytes) -> int:
        """Parse ``data``; returns how many of its bytes belong to this request."""
        try:
            consumed: int = super().received(data)
        except OSError as error:
            # Without the path, which the text of some errors has.
            log_alarm(logger, "a request body could not be written to disk: %s", error.strerror or type(error).__name__)
            self.refuse({"modhub.body_failed": True})
        except ValueError:  # a length of 5,000 digits, half an IPv6 address
            self.fail(BadRequest("The request head is malformed."))
        if self.body_rcv is not None and self.error is None:
            self._count()
        return len(data) if self.final else consumed

    def _count(self) -> None:
        size = len(self.body_rcv)
        grown, self._counted = size - self._counted, size
        fits = self.adj.count_body(grown) or size <= self.adj.inbuf_overflow
        if self.chunked and size > self._limit:
            self.refuse({"modhub.body_limit_exceeded": self._limit})
        elif not fits:
            self.refuse({"modhub.body_busy": True})

    def without_body(self) -> "Request":
        """This request as the application sees it before the body is read.

        If it answers 100, the body is read and it is called again; any other response is the last on the connection.
        """
        self.asks = False
        question = copy.copy(self)
        question.body_rcv, question._counted, question.headers = None, 0, dict(self.headers)
        missing = self.content_length - self._counted
        has_room = self.content_length <= self.adj.inbuf_overflow or self.adj.has_room(missing)
        question.notes = {"modhub.body": "expected"} if has_room else {"modhub.body_busy": True}
        question.final = True
        return question

    def run_again(self) -> None:
        """Keep the body once more: the request runs a second time, in the thread of large responses."""
        self.is_large = self._runs_again = True

    def close(self) -> None:
        """Release the body; a file on a full disk may refuse even that."""
        if self._runs_again:
            self._runs_again = False
            return
        released, self._counted = self._counted, 0
        self.adj.count_body(-released)
        with contextlib.suppress(OSError):
            super().close()


def _strict_head(block: bytes) -> bytes:
    """The head as waitress reads it right; refuses what another implementation could read differently (RFC 9112; T-D1).

    The target becomes a path and a query in ASCII. Its authority, and ``Host``, have no effect (C-HTTP-6).
    """
    if _CONTROL.search(block):
        raise ParsingError("The request head contains control characters.")
    first, *lines = block.split(b"\r\n")
    request_line = _REQUEST_LINE.fullmatch(first)
    if request_line is None:
        raise ParsingError("The request line is malformed, or not of HTTP/1.0 or HTTP/1.1.")
    method, authority, path, version = request_line.groups(b"")
    fields: dict[bytes, bytes] = {}
    for line in lines:
        name, _, value = line.partition(b":")
        name = name.lower()
        if line[:1] in {b" ", b"\t"}:
            raise ParsingError("A header line is continued.")
        if name in _ONCE and name in fields:
            raise ParsingError(f"The header {name.decode().title()} came twice.")
        fields[name] = value.strip(b" \t")
    hosts = {authority or b"-", fields.get(b"host", b"-" if version == b"1.0" else b"")}
    if not all(map(_HOST.fullmatch, hosts)):
        raise ParsingError("The Host header is missing or malformed.")
    _check_coding(fields, version)
    path = _BEYOND_ASCII.sub(lambda match: b"%%%02X" % match[0][0], path if path[:1] == b"/" else b"/" + path)
    return b"\r\n".join([b"%s %s HTTP/%s" % (method, path, version), *lines])


def _check_coding(fields: dict[bytes, bytes], version: bytes) -> None:
    coding = fields.get(b"transfer-encoding")
    if coding is None:
        return
    if b"content-length" in fields or version == b"1.0":
        raise ParsingError("Transfer-Encoding excludes Content-Length, and has no meaning in HTTP/1.0.")
    if coding.lower() != b"chunked":
        raise TransferEncodingNotImplemented("The only transfer coding taken is chunked.")
