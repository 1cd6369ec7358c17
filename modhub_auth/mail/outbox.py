"""The letters and their outbox: a letter is a row of the transaction that causes it (C-MAIL-1)."""

import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from email_validator import EmailNotValidError, validate_email
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from sqlalchemy.orm import Session

from modhub.db import now
from modhub_auth.encryption import SecretBox
from modhub_auth.mail.texts import EMAIL_TEMPLATES, EmailTemplate
from modhub_auth.models import OutgoingEmail

EMAIL_ENCRYPTION: Final = "letter"


_HOLE: Final = re.compile(r"%\((\w+)\)s")
_NAME: Final = 40
"""Code points of a display name in an email."""


def without_links(name: str) -> str:
    """A display name in which no mail program finds a link: letters, digits and what joins words."""
    kept = (one if unicodedata.category(one)[0] in "LMN" or one in "-_'’" else " " for one in name)
    return " ".join("".join(kept).split())[:_NAME].strip()


class EmailText(msgspec.Struct):
    """A letter in the language of its reader, as it is sealed."""

    subject: str
    text: str
    html: str


class Outbox:
    """Writes letters. Links begin with ``modhub.base_url``, whatever host the request named (T-C7)."""

    def __init__(self, base_url: str, sender: str, seal: SecretBox) -> None:
        self._base_url = base_url
        self._sender = sender
        self._seal = seal
        self._templates = Environment(
            loader=PackageLoader("modhub_auth", "templates/letters"),
            autoescape=select_autoescape(["html"]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def write(self, kind: str, messages: Any, secret: str = "", **values: str) -> EmailText:
        """The letter of ``kind`` in the language of ``messages``; ``secret`` goes into its link, if it has one.

        ``values``: the display ``name`` of who asked, the ``client`` by which something was done.
        """
        return self.write_text(EMAIL_TEMPLATES[kind], messages, secret, **values)

    def write_text(self, text: EmailTemplate, messages: Any, secret: str = "", **values: str) -> EmailText:
        """As :meth:`write`, for a text that is none of :data:`EMAIL_TEMPLATES`."""
        given = {
            # Without its scheme the name of the site is no link: a letter has the one that it is about.
            "site": urlsplit(self._base_url).netloc,
            "forgot": f"{self._base_url}/Modhub/account/forgot",
            "when": f"{now():%Y-%m-%d %H:%M} UTC",
            "name": without_links(values.get("name", "")),
            "client": values.get("client", ""),
        }
        filled = {
            "lang": messages.language,
            "subject": messages.gettext(text.subject),
            "before": list(_filled(messages, text.before, given)),
            "after": list(_filled(messages, text.after, given)),
            "link": f"{self._base_url}{text.link}?token={secret}" if text.link else "",
        }
        plain, html = (self._templates.get_template(f"letter.{form}").render(filled) for form in ("txt", "html"))
        return EmailText(str(filled["subject"]), plain, html)

    def queue(self, session: Session, kind: str, recipient: str, written: EmailText) -> None:
        """Put a letter into the outbox; it leaves when the transaction has been committed."""
        session.add(self.sealed(kind, recipient, written))
        session.flush()

    def sealed(self, kind: str, recipient: str, written: EmailText) -> OutgoingEmail:
        """A letter as the outbox holds it: nobody reads a link there."""
        time = now()
        host = urlsplit(self._base_url).hostname or "localhost"
        message_id = f"{secrets.token_hex(12)}@{host}"[:64]
        sealed = self._seal.encrypt(msgspec.json.encode(written).decode(), message_id)
        return OutgoingEmail(
            kind=kind, recipient=recipient, sealed=sealed, message_id=message_id, created_at=time, next_at=time
        )

    def message(self, sealed: str, recipient: str, message_id: str, created_at: datetime) -> EmailMessage | None:
        """The letter as it is sent; None when it cannot be opened any more, because its secret has been taken away."""
        opened = self._seal.decrypt(sealed, message_id)
        if opened is None:
            return None
        written = msgspec.json.decode(opened, type=EmailText)
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = to_header(recipient)
        message["Subject"] = written.subject
        message["Date"] = format_datetime(created_at)
        message["Message-ID"] = f"<{message_id}>"
        message["Auto-Submitted"] = "auto-generated"
        # Neither quoted-printable nor base64: a link stays whole for whoever reads the file itself.
        message.set_content(written.text, cte="7bit" if written.text.isascii() else "8bit")
        message.add_alternative(written.html, subtype="html", cte="7bit" if written.html.isascii() else "8bit")
        return message


def _filled(messages: Any, lines: Iterable[str], values: Mapping[str, str]) -> Iterator[str]:
    """The lines in their language; one that has nothing to say is left out."""
    for line in lines:
        holes = _HOLE.findall(line)
        if all(values[hole] for hole in holes):
            yield messages.gettext(line, **values) if holes else messages.gettext(line)


def to_header(recipient: str) -> str:
    """The address in ASCII where it can be: a host in another script has a form in ASCII (RFC 5891)."""
    try:
        return validate_email(recipient, check_deliverability=False).ascii_email or recipient
    except EmailNotValidError:
        return recipient
