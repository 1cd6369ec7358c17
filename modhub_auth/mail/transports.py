"""How an email is delivered: by SMTP, else as a file in ``modhub.mail_dir``, else to the log (C-SET-2)."""

import logging
import smtplib
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

from modhub.base.settings import StartRefused

log = logging.getLogger(__name__)
SMTP_TIMEOUT_SECONDS: Final = 15
_PERMANENT_CODES: Final = range(500, 600)

Transport = Callable[[EmailMessage], None]
MailTransport = Callable[[], AbstractContextManager[Transport]]


class DeliveryUnavailable(Exception):
    """No email can be delivered at the moment."""


class ConnectionLost(DeliveryUnavailable):
    """The mail server disconnected during this email, which may be the cause."""


class DeliveryRefused(Exception):
    """This email was refused. ``permanent``: another attempt would be refused as well."""

    def __init__(self, message: str, *, permanent: bool) -> None:
        super().__init__(message)
        self.permanent = permanent


def transport_from_settings(settings: Mapping[str, Any]) -> MailTransport:
    """The transport that the settings name. StartRefused when two settings exclude each other."""
    if settings["mail.ssl"] and settings["mail.tls"]:
        raise StartRefused("the settings mail.ssl and mail.tls exclude each other: TLS begins at once or by STARTTLS")
    if settings["mail.host"]:
        return lambda: smtp_transport(settings)
    if settings["modhub.mail_dir"]:
        return lambda: folder_transport(Path(settings["modhub.mail_dir"]))
    return log_transport


def connect(settings: Mapping[str, Any], timeout: float = SMTP_TIMEOUT_SECONDS) -> smtplib.SMTP:
    """Connect to the mail server and sign in, as the settings say. OSError or SMTPException if that fails."""
    address = {"host": settings["mail.host"], "port": settings["mail.port"], "timeout": timeout}
    if settings["mail.ssl"]:
        server: smtplib.SMTP = smtplib.SMTP_SSL(**address, context=ssl.create_default_context())
    else:
        server = smtplib.SMTP(**address)
    try:
        if settings["mail.tls"]:
            server.starttls(context=ssl.create_default_context())
        if settings["mail.username"]:
            server.login(settings["mail.username"], str(settings["mail.password"]))
    except BaseException:
        server.close()
        raise
    return server


def _mail_options(server: smtplib.SMTP, message: EmailMessage) -> list[str]:
    """Announce 8-bit bodies (RFC 6152), as of emails in other languages. With SMTPUTF8 smtplib announces them."""
    server.ehlo_or_helo_if_needed()
    unneeded = message.as_bytes().isascii() or not str(message["To"]).isascii()
    return [] if unneeded or not server.has_extn("8bitmime") else ["BODY=8BITMIME"]


def _reason(error: OSError) -> str:
    """What the system or the mail server says, without a path; SMTP's errors are OSErrors too."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"it says {error.smtp_code}"
    return "no answer" if isinstance(error, TimeoutError) else error.strerror or type(error).__name__


@contextmanager
def smtp_transport(settings: Mapping[str, Any]) -> Iterator[Transport]:
    """One connection for many emails (RFC 5321)."""
    try:
        server = connect(settings)
    except (OSError, smtplib.SMTPException) as error:
        raise DeliveryUnavailable(f"the mail server cannot be reached ({_reason(error)})") from None

    def deliver(message: EmailMessage) -> None:
        try:
            server.send_message(message, mail_options=_mail_options(server, message))
        except smtplib.SMTPRecipientsRefused as error:
            code = next(iter(error.recipients.values()), (0, b""))[0]
            raise DeliveryRefused(f"the recipient was refused ({code})", permanent=code in _PERMANENT_CODES) from None
        except smtplib.SMTPNotSupportedError:
            raise DeliveryRefused("the mail server does not take this address", permanent=True) from None
        except ValueError:
            raise DeliveryRefused("its headers cannot be written", permanent=True) from None
        except smtplib.SMTPServerDisconnected:
            raise ConnectionLost("the mail server closed the connection") from None
        except smtplib.SMTPResponseException as error:
            raise DeliveryRefused(f"the email was refused ({error.smtp_code})", permanent=False) from None
        except OSError as error:
            raise ConnectionLost(f"the connection to the mail server broke ({_reason(error)})") from None

    try:
        yield deliver
    finally:
        with suppress(OSError, smtplib.SMTPException):
            server.quit()
        server.close()


@contextmanager
def folder_transport(folder: Path) -> Iterator[Transport]:
    """Write each email to an ``.eml`` file, which gets its name only when it is complete."""

    def deliver(message: EmailMessage) -> None:
        name = str(message["Message-ID"]).strip("<>").partition("@")[0]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f".{name}.part"
            unfinished.write_bytes(message.as_bytes())
            unfinished.rename(folder / f"{name}.eml")
        except OSError as error:
            raise DeliveryUnavailable(f"the email folder cannot be written ({_reason(error)})") from None

    yield deliver


@contextmanager
def log_transport() -> Iterator[Transport]:
    """Write emails to the log, for a service without a mail server and without a folder."""

    def deliver(message: EmailMessage) -> None:
        body = message.get_body(("plain",))
        text = "" if body is None else body.get_content()
        log.warning("no mail.host and no modhub.mail_dir: an email to %s: %s", message["To"], text)

    yield deliver
