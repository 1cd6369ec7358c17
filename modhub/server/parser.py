"""One request as it arrives: head, then body, with the early responses of C-ERR-20."""

import copy
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from waitress.parser import HTTPRequestParser
from waitress.receiver import FixedStreamReceiver

from modhub.base.body_rules import PROBE_ABOVE_BYTES, BodyRule
from modhub.base.repeated_lines import log_alarm, log_sometimes
from modhub.server.chunked import ChunkedBody
from modhub.server.head import BARE_LINE_END, Head, body_length, parse_head
from modhub.server.protocol_errors import ProtocolError, malformed_request
from modhub.server.spool import SpooledBody, SpoolFull

logger = logging.getLogger("modhub.server")


class Parser(HTTPRequestParser):
    """waitress's request, parsed by our own strict rules.

    A request may end *early*: complete for the application before its body is. Then ``final`` is true (nothing after
    it on this connection is a request), its input is empty with a Content-Length of 0, and ``notes`` go into the
    environ, one of

    * ``modhub.body`` = ``"unread"``: the credential that the address requires is absent,
    * ``modhub.body`` = ``"expected"``: the body is read only if the application wants it (`expect_probe`),
    * ``modhub.body_limit_exceeded`` = the limit in bytes, by length or as the body arrived,
    * ``modhub.body_failed`` = True: the body could not be spooled (full disk),
    * ``modhub.body_busy`` = True: all bodies together have reached their limit.

    A complete body in the folder of the application (`BodyRule.stored`) is ``modhub.body_file``.
    """

    version = "1.1"
    command = ""
    path = ""
    query = ""
    fragment = ""
    final = False
    credential: str | None = None
    waits = False
    needs_probe = False
    """Whether the application is asked before the body is read."""

    def __init__(self, adj: Any) -> None:
        super().__init__(adj)
        self.notes: Mapping[str, object] = {}
        self.limit = 0
        self._head = bytearray()

    def received(self, data: bytes) -> int:
        """Parse ``data``; returns how many of its bytes belong to this request."""
        if self.completed:
            return 0
        try:
            return self._receive_head(data) if self.body_rcv is None else self._receive_body(data)
        except ProtocolError as error:
            self.fail(error)
            return len(data)

    def fail(self, error: ProtocolError) -> None:
        """End the request with an error response of the server's own."""
        self.error = error
        self._end_early({})

    def _receive_head(self, data: bytes) -> int:
        head, parsed = self._head, len(self._head)
        head += data
        end = head.find(b"\r\n\r\n", max(0, parsed - 3))
        stop = end + 4 if end >= 0 else len(head) - head.endswith(b"\r")
        if BARE_LINE_END.search(head, max(0, parsed - 1), stop):
            raise malformed_request("The request head contains a bare CR or LF.")
        if stop > self.adj.max_request_header_size:
            raise ProtocolError(431, f"The request head is longer than {self.adj.max_request_header_size} bytes.")
        if end < 0:
            return len(data)
        block = bytes(head[:stop]).lstrip(b"\r\n")
        self._head = bytearray()
        if block:
            self.headers_finished = True
            self.command = "HEAD" if block.startswith(b"HEAD ") else ""  # an error response to HEAD has no body
            self._apply_head(parse_head(block))
            self._start_body()
        else:
            self.empty = self.completed = True
        return stop - parsed

    def _apply_head(self, head: Head) -> None:
        """Set what waitress's task and channel read from a request."""
        target = head.target.partition(b"#")[0]
        path, _, query = target.partition(b"?")
        self.headers = head.fields
        self.command, self.version = head.method, head.version
        self.request_uri, self.query = target.decode("latin-1"), query.decode("latin-1")
        self.path = unquote_to_bytes(path).decode("latin-1")
        self.url_scheme = self.adj.url_scheme
        tokens = {token.strip(" \t") for token in head.fields.get("CONNECTION", "").lower().split(",")}
        self.connection_close = "close" in tokens or (self.version == "1.0" and "keep-alive" not in tokens)
        self.expect_continue = self.version == "1.1" and head.fields.get("EXPECT", "").lower() == "100-continue"

    def _start_body(self) -> None:
        """Decide at the end of the head: no body, an early response, or a body to read."""
        length = body_length(self.version, self.headers)
        self.headers.pop("TRANSFER_ENCODING", None)
        if length == 0:
            self.completed = True
            return
        rule = self.adj.find_rule(self.command, self.path)
        self.limit, self.credential, self.waits = rule.limit, rule.credential, rule.waits
        if rule.credential is not None and rule.credential.upper().replace("-", "_") not in self.headers:
            self._end_early({"modhub.body": "unread"})
        elif length is not None and length > rule.limit:
            self._end_early({"modhub.body_limit_exceeded": rule.limit})
        else:
            folder = self.adj.rules.file_folder if rule.stored else None
            buffer = SpooledBody(self.adj.spool, self.adj.inbuf_overflow, folder)
            self.chunked, self.content_length = length is None, length or 0
            self.body_rcv = ChunkedBody(buffer) if length is None else FixedStreamReceiver(length, buffer)
            self.needs_probe = self._should_probe(rule, length)

    def _should_probe(self, rule: BodyRule, length: int | None) -> bool:
        """Whether the body may be large, or the client holds it back where a credential is required."""
        large = rule.limit > PROBE_ABOVE_BYTES and (length is None or length > PROBE_ABOVE_BYTES)
        held_back = self.expect_continue and rule.credential is not None
        return self.adj.rules is not None and (large or held_back)

    @property
    def body_left(self) -> int:
        """How many bytes of the body are still to come, if its length is known."""
        if self.chunked or self.body_rcv is None:
            return 0
        remaining: int = self.content_length - self.body_bytes_received
        return remaining

    def expect_probe(self) -> "Parser":
        """This request without its body, so that the application can reject it before the body is read (C-ERR-20).

        If the application wants the body it returns 100, and the body is read (a client that holds it back is told to
        send it). Any other response is the last one on the connection.
        """
        self.needs_probe = False
        is_full = self.content_length > self.adj.inbuf_overflow and not self.adj.spool.has_room(self.content_length)
        if is_full:
            self.adj.note_limit("spool_bytes")
        probe = copy.copy(self)
        probe.body_rcv = None
        probe.headers = dict(self.headers)
        probe.notes = {"modhub.body_busy": True} if is_full else {"modhub.body": "expected"}
        probe.final = True
        return probe

    def _receive_body(self, data: bytes) -> int:
        body = self.body_rcv
        try:
            consumed: int = body.received(data)
        except OSError as error:
            # The disk is full, as a rule. Without the path, which the text of some errors has.
            reason = error.strerror or type(error).__name__
            log_alarm(logger, "a request body could not be written to disk: %s", reason)
            self._end_early({"modhub.body_failed": True})
            return len(data)
        except SpoolFull:
            self.adj.note_limit("spool_bytes")
            self._end_early({"modhub.body_busy": True})
            return len(data)
        self.body_bytes_received += consumed
        if self.chunked and len(body) > self.limit:
            self._end_early({"modhub.body_limit_exceeded": self.limit})
            return len(data)
        if body.completed:
            self.completed = True
            self.headers["CONTENT_LENGTH"] = str(len(body))
            unnamed_file = body.getbuf().unnamed_file
            self.notes = {} if unnamed_file is None else {"modhub.body_file": unnamed_file}
        return consumed

    def _end_early(self, notes: Mapping[str, object]) -> None:
        self.close()
        self.body_rcv = None
        self._head = bytearray()
        self.headers["CONTENT_LENGTH"] = "0"
        self.notes = notes
        self.final = self.completed = True

    def close(self) -> None:
        """Release the spooled body; a file that cannot even be closed (full disk) is only logged."""
        try:
            super().close()
        except OSError as error:
            log_sometimes(logger, logging.WARNING, "a spooled request body could not be closed: %s", error)
