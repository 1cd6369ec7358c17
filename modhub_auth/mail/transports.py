"""How a letter leaves: by SMTP, else as a file in ``modhub.mail_dir``, else into the log (C-SET-2)."""

import logging
import smtplib
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from email.message import EmailMessage
from pathlib import Path
from threading import Timer
from typing import IO, Any, Final

from modhub.settings import StartRefused
from modhub_auth.platform.openid import hang_up

log = logging.getLogger(__name__)
SMTP_TIMEOUT_SECONDS: Final = 15
REPLY_SECONDS: Final = 60
REPLY_BYTES: Final = 65536
"""What a mail server may take for one reply; more of either, and it counts as gone."""
_FOR_EVER: Final = range(500, 600)

Transport = Callable[[EmailMessage], None]
MailTransport = Callable[[], AbstractContextManager[Transport]]


class Unreachable(Exception):
    """Nothing can be sent just now, whatever it is."""


class ConnectionLost(Unreachable):
    """The mail server has gone in the middle of this letter, which may be why."""


class DeliveryRefused(Exception):
    """This letter was refused. ``for_ever``: another attempt would be refused as well."""

    def __init__(self, message: str, *, for_ever: bool) -> None:
        super().__init__(message)
        self.for_ever = for_ever


class _Lines:
    """The lines of one reply; an OSError when they are too many."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.left = REPLY_BYTES

    def readline(self, most: int) -> bytes:
        """As of the file."""
        line = self._file.readline(most)
        self.left -= len(line)
        if self.left < 0:
            raise OSError
        return line

    def close(self) -> None:
        """As of the file."""
        self._file.close()


class _Server(smtplib.SMTP):
    """A mail server whose replies are bounded: smtplib's timeout begins again with every byte that trickles in."""

    def getreply(self) -> tuple[int, bytes]:
        """As of smtplib; SMTPServerDisconnected when the reply is too long or takes too long."""
        held = self.sock
        if held is None:
            raise smtplib.SMTPServerDisconnected
        if self.file is None:
            self.file = _Lines(held.makefile("rb"))
        self.file.left = REPLY_BYTES
        end = Timer(REPLY_SECONDS, hang_up, [held])
        end.daemon = True
        end.start()
        try:
            return super().getreply()
        finally:
            end.cancel()


class _TlsServer(_Server, smtplib.SMTP_SSL):
    """The same by TLS from the first byte on."""


def transport_from_settings(settings: Mapping[str, Any]) -> MailTransport:
    """The way that the settings name. StartRefused: two that exclude each other."""
    if settings["mail.ssl"] and settings["mail.tls"]:
        raise StartRefused("the settings mail.ssl and mail.tls exclude each other: TLS begins at once or by STARTTLS")
    if settings["mail.host"]:
        return lambda: by_smtp(settings)
    if settings["modhub.mail_dir"]:
        return lambda: into_folder(Path(settings["modhub.mail_dir"]))
    return into_log


def _connect(settings: Mapping[str, Any]) -> smtplib.SMTP:
    where = {"host": settings["mail.host"], "port": settings["mail.port"], "timeout": SMTP_TIMEOUT_SECONDS}
    if settings["mail.ssl"]:
        server: smtplib.SMTP = _TlsServer(**where, context=ssl.create_default_context())
    else:
        server = _Server(**where)
    try:
        if settings["mail.tls"]:
            server.starttls(context=ssl.create_default_context())
        if settings["mail.username"]:
            server.login(settings["mail.username"], str(settings["mail.password"]))
    except BaseException:
        server.close()
        raise
    return server


def _options(server: smtplib.SMTP, message: EmailMessage) -> list[str]:
    """Letters in other languages are 8-bit, which is said before (RFC 6152); with SMTPUTF8 smtplib says it itself."""
    server.ehlo_or_helo_if_needed()
    needless = message.as_bytes().isascii() or not str(message["To"]).isascii()
    return [] if needless or not server.has_extn("8bitmime") else ["BODY=8BITMIME"]


@contextmanager
def by_smtp(settings: Mapping[str, Any]) -> Iterator[Transport]:
    """One connection for many letters (RFC 5321)."""
    try:
        server = _connect(settings)
    except (OSError, smtplib.SMTPException) as problem:
        raise Unreachable(f"the mail server cannot be had ({type(problem).__name__})") from None

    def deliver(message: EmailMessage) -> None:
        try:
            server.send_message(message, mail_options=_options(server, message))
        except smtplib.SMTPRecipientsRefused as problem:
            code = next(iter(problem.recipients.values()), (0, b""))[0]
            raise DeliveryRefused(f"the recipient was refused ({code})", for_ever=code in _FOR_EVER) from None
        except smtplib.SMTPNotSupportedError:
            raise DeliveryRefused("the mail server does not take this address", for_ever=True) from None
        except ValueError:
            raise DeliveryRefused("its headers cannot be written", for_ever=True) from None
        except smtplib.SMTPServerDisconnected:
            raise ConnectionLost("the mail server has hung up") from None
        except smtplib.SMTPResponseException as problem:
            raise DeliveryRefused(f"the letter was refused ({problem.smtp_code})", for_ever=False) from None
        except OSError as problem:
            raise ConnectionLost(f"the mail server is gone ({type(problem).__name__})") from None

    try:
        yield deliver
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
        server.close()


@contextmanager
def into_folder(folder: Path) -> Iterator[Transport]:
    """One ``.eml`` file a letter, whole when it has its name."""

    def deliver(message: EmailMessage) -> None:
        name = str(message["Message-ID"]).strip("<>").partition("@")[0]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f".{name}.part"
            unfinished.write_bytes(message.as_bytes())
            unfinished.rename(folder / f"{name}.eml")
        except OSError as problem:
            raise Unreachable(f"the folder for letters cannot be written ({type(problem).__name__})") from None

    yield deliver


@contextmanager
def into_log() -> Iterator[Transport]:
    """For a service without a mail server and without a folder: the operator reads the letters in the log."""

    def deliver(message: EmailMessage) -> None:
        body = message.get_body(("plain",))
        text = "" if body is None else body.get_content()
        log.warning("no mail.host and no modhub.mail_dir: a letter to %s: %s", message["To"], text)

    yield deliver
