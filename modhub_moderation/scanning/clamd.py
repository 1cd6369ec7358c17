"""The malware scanner: clamd."""

import re
import socket
import struct
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from modhub.base.settings import StartRefused
from modhub.content.limits import CODE, KB, MB


class ScannerDown(Exception):
    """The scanner cannot say what a file is: it does not answer, or refuses to look. The message is a clause."""


EICAR: Final = b"".join((b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", b"-STANDARD-ANTIVIRUS-", b"TEST-FILE!$H+H*"))
FILLER: Final = CODE - 64 * KB
"""More than the 40 MB behind which many settings of clamd end: all that fits before the test file."""
LIMITED: Final = "Heuristics.Limits.Exceeded"
"""What clamd finds, with ``AlertExceedsMax``, in a file that it has not looked through."""
_CHUNK: Final = 256 * KB
_MEMBER: Final = 8 * MB
_UNPACKED: Final = 2 * FILLER
"""clamd counts an archive and what is in it towards ``MaxScanSize``."""


def large_archive() -> Iterator[bytes]:
    """A zip file of as many bytes as an upload may have, the test file last."""
    return _archive(zipfile.ZIP_STORED, FILLER)


def dense_archive() -> Iterator[bytes]:
    """A small zip file that makes clamd scan as much as the large one, in members below any limit of one file."""
    return _archive(zipfile.ZIP_DEFLATED, _UNPACKED)


def _archive(compression: int, filler: int) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", compression) as archive:
            for start in range(0, filler, _MEMBER):
                archive.writestr(f"filler-{start}", bytes(min(_MEMBER, filler - start)))
            archive.writestr("eicar.com", EICAR)
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


MAX_REPLY: Final = 4096
_COMMAND: Final = b"zINSTREAM\0"
_LENGTH: Final = struct.Struct(">I")
_END: Final = _LENGTH.pack(0)
_FOUND: Final = re.compile(r"stream: (?P<rule>.*\S) FOUND", re.DOTALL)

Address = str | tuple[str, int]
"""The path of a socket, or a host and a port."""


class Clamd:
    """The scanner, shared by all threads. One connection for each scan, as clamd wants it."""

    def __init__(self, address: Address, seconds: float) -> None:
        self._address = address
        self._seconds = seconds

    def begin(self) -> "ClamdScan":
        """Begin the scan of a file; :class:`ScannerDown` if there is nobody to do it."""
        return ClamdScan(self._connect(), self._seconds)

    def scan(self, chunks: Iterable[bytes]) -> str | None:
        """Scan a whole file: the name of the rule that it matches, None if it is clean."""
        with closing(self.begin()) as scan:
            for chunk in chunks:
                scan.send(chunk)
            return scan.finish()

    def find_problems(self) -> Iterator[str]:
        """What keeps it from finding something in the largest upload: what to do, without a full stop."""
        try:
            if not self._finds([EICAR]):
                yield "clamd does not find the EICAR test file: it has no signatures; install them, or start freshclam"
                return
            if self._finds(large_archive()):
                return
            limits = ("MaxFileSize", CODE) if self._finds(dense_archive()) else ("MaxScanSize", 2 * CODE)
        except ScannerDown as error:
            yield str(error)
            return
        setting, needed = limits
        yield (
            f"clamd calls large files clean without looking: an upload may have {CODE // MB} MB, so raise {setting} in "
            f"clamd.conf to more than {needed // MB}M and restart clamd"
        )

    def _finds(self, chunks: Iterable[bytes]) -> bool:
        rule = self.scan(chunks)
        return rule is not None and not rule.startswith(LIMITED)

    def _connect(self) -> socket.socket:
        try:
            if not isinstance(self._address, str):
                return socket.create_connection(self._address, self._seconds)
            return _connect_to_path(self._address, self._seconds)
        except OSError as error:
            raise ScannerDown(f"clamd cannot be reached ({_reason(error)})") from None


def _connect_to_path(path: str, seconds: float) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


class ClamdScan:
    """The scan of one file; it takes at most ``seconds``, then clamd counts as down. All but ``close`` raise
    :class:`ScannerDown`.
    """

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._deadline = monotonic() + seconds
        self._send(_COMMAND)

    def send(self, chunk: bytes) -> None:
        """Send one chunk of the stream."""
        if chunk:  # an empty one would end the stream
            self._send(_LENGTH.pack(len(chunk)), chunk)

    def finish(self) -> str | None:
        """End the stream and read the answer: the name of the rule that it matches, None if it is clean."""
        self._send(_END)
        return _read_verdict(self._read_reply())

    def close(self) -> None:
        """End the scan, finished or not."""
        self._connection.close()

    def _send(self, *parts: bytes) -> None:
        try:
            for part in parts:
                self._connection.settimeout(self._left())
                self._connection.sendall(part)
        except OSError as error:
            raise ScannerDown(self._read_last_words() or f"clamd hung up ({_reason(error)})") from None

    def _read_last_words(self) -> str:
        """What clamd said before it hung up, which may be why; the first attempt may only tell that it did."""
        for _ in range(2):
            with suppress(ScannerDown):
                return _describe(self._read_reply())
        return ""

    def _read_reply(self) -> str:
        reply = b""
        try:
            while not reply.endswith(b"\0"):
                self._connection.settimeout(self._left())
                part = self._connection.recv(MAX_REPLY)
                reply += part
                if not part or len(reply) > MAX_REPLY:
                    break
        except OSError as error:
            raise ScannerDown(f"clamd does not answer ({_reason(error)})") from None
        if not reply.endswith(b"\0"):
            raise ScannerDown("clamd hung up before it answered")
        return reply[:-1].decode("utf-8", "replace")

    def _left(self) -> float:
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


def _read_verdict(reply: str) -> str | None:
    """``stream: OK``, ``stream: Rule.Name FOUND`` or ``… ERROR``; anything else is no verdict."""
    if reply == "stream: OK":
        return None
    if match := _FOUND.fullmatch(reply):
        return match["rule"]
    raise ScannerDown(_describe(reply))


def _describe(reply: str) -> str:
    shown = "".join(character for character in reply[:200] if character.isprintable())
    if "size limit exceeded" in reply:
        return f"clamd refuses uploads of this size: raise StreamMaxLength in clamd.conf to more than {CODE // MB}M"
    return f"clamd says: {shown or 'nothing'}"


def _reason(error: OSError) -> str:
    return "timed out" if isinstance(error, TimeoutError) else (error.strerror or type(error).__name__)


def open_clamd(url: str, seconds: float) -> Clamd:
    """``clamd:///run/clamav/clamd.ctl`` or ``clamd://host:port``; StartRefused for anything else."""
    if not url.startswith("clamd:"):
        raise StartRefused("the setting modhub_moderation.scanner must begin with clamd:")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.hostname is None and port is None and len(parts.path) > 1 and not (parts.query or parts.fragment):
        return Clamd(parts.path, seconds)
    if parts.hostname is not None and port and not (parts.path or parts.query or parts.fragment or parts.username):
        return Clamd((parts.hostname, port), seconds)
    raise StartRefused(
        "the setting modhub_moderation.scanner must be clamd:///path/of/its/socket or clamd://host:port, "
        "such as clamd:///run/clamav/clamd.ctl"
    )
