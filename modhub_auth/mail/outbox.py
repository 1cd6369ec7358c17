"""Emails and their outbox: an email is a row written in the transaction that causes it (C-MAIL-1)."""

import re
import secrets
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from email_validator import EmailNotValidError, validate_email
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from sqlalchemy import delete
from sqlalchemy.orm import Session

from modhub.base.settings import DEFAULT_SITE_NAME
from modhub.db import now
from modhub_auth.mail.texts import EMAIL_TEMPLATES
from modhub_auth.models import OutgoingEmail
from modhub_auth.tokens import SecretBox

EMAIL_ENCRYPTION: Final = "letter"
"""The purpose of the key that encrypts queued emails."""
DIGEST: Final = "digest"
"""The kind of the emails that many people get at once: they are sent after all others."""
MAX_HEADER_LINE: Final = 900
"""Characters of a header's line; RFC 5322 allows 998."""
_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s")
_MAX_NAME: Final = 40
"""Code points of a display name in an email."""


def without_links(name: str) -> str:
    """The display name reduced to letters, digits and joining characters, so that no mail program sees a link."""
    characters = (char if unicodedata.category(char)[0] in "LMN" or char in "-_'’" else " " for char in name)
    return " ".join("".join(characters).split())[:_MAX_NAME].strip()


class EmailText(msgspec.Struct):
    """An email in its reader's language, as it is encrypted. ``headers`` are besides those that every email has."""

    subject: str
    text: str
    html: str
    headers: dict[str, str] = {}


class EmailEntry(NamedTuple):
    """A part of an email: a heading, lines of text, and an address; each may be empty."""

    heading: str = ""
    lines: Sequence[str] = ()
    link: str = ""


class Outbox:
    """Writes emails. Links start with ``modhub.base_url``, never with the request's host (T-C7)."""

    def __init__(
        self, base_url: str, sender: str, secret_box: SecretBox, *, site_name: str = DEFAULT_SITE_NAME
    ) -> None:
        self._base_url = base_url
        host = urlsplit(base_url).netloc
        # Without a scheme the host is not a link: the email's only link is the one it is about.
        self._site = host if site_name == DEFAULT_SITE_NAME else f"{without_links(site_name)} ({host})"
        self._sender = sender
        self._secret_box = secret_box
        self._templates = Environment(
            loader=PackageLoader("modhub_auth", "templates/letters"),
            autoescape=select_autoescape(["html"]),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def render(self, kind: str, messages: Any, secret: str = "", **values: str) -> EmailText:
        """Render the email of ``kind`` in the language of ``messages``; ``secret`` goes into its link, if it has one.

        ``values``: the display ``name`` of the account that asks, the ``client`` (browser or program) that acted, the
        title of the ``mod`` that it is about.
        """
        template = EMAIL_TEMPLATES[kind]
        values_by_name = {
            "site": self._site,
            "account": f"{self._base_url}/Modhub/account",
            "forgot": f"{self._base_url}/Modhub/account/forgot",
            "when": f"{now():%Y-%m-%d %H:%M} UTC",
            "name": without_links(values.get("name", "")),
            "mod": without_links(values.get("mod", "")),
            "client": values.get("client", ""),
        }
        before = list(_translated_lines(messages, template.before, values_by_name))
        after = list(_translated_lines(messages, template.after, values_by_name))
        link = f"{self._base_url}{template.link}?token={secret}" if template.link else ""
        parts = [EmailEntry(lines=before, link=link), EmailEntry(lines=after)]
        return self.compose(messages.language, messages.gettext(template.subject), parts)

    def compose(
        self, language: str, subject: str, parts: Sequence[EmailEntry], headers: Mapping[str, str] | None = None
    ) -> EmailText:
        """Build an email of texts that are translated already; those of users are without links."""
        context = {"lang": language, "subject": subject, "parts": parts}
        plain, html = (self._templates.get_template(name).render(context) for name in ("letter.txt", "letter.html"))
        return EmailText(subject, plain, html, dict(headers or {}))

    def queue(self, session: Session, kind: str, recipient: str, email: EmailText) -> None:
        """Put an email into the outbox; it is sent once the transaction has committed."""
        session.add(self.encrypted_row(kind, recipient, email))
        session.flush()

    def withdraw(self, session: Session, kind: str, recipient: str) -> None:
        """Delete the emails of ``kind`` to ``recipient`` that have not been sent."""
        unsent = OutgoingEmail.sealed.is_not(None), OutgoingEmail.kind == kind
        session.execute(delete(OutgoingEmail).where(OutgoingEmail.recipient == recipient, *unsent))

    def encrypted_row(self, kind: str, recipient: str, email: EmailText) -> OutgoingEmail:
        """The outbox row for an email, encrypted so that the database holds no readable link."""
        time = now()
        host = urlsplit(self._base_url).hostname or "localhost"
        message_id = f"{secrets.token_hex(12)}@{host}"[:64]
        sealed = self._secret_box.encrypt(msgspec.json.encode(email).decode(), message_id)
        return OutgoingEmail(
            kind=kind, recipient=recipient, sealed=sealed, message_id=message_id, created_at=time, next_at=time
        )

    def with_base_url(self, sealed: str, message_id: str, old: str, new: str) -> str | None:
        """The encrypted email with links to ``new`` instead of ``old``; None if its secret is not configured."""
        decrypted = self._secret_box.decrypt(sealed, message_id)
        if decrypted is None:
            return None
        return self._secret_box.encrypt(decrypted.replace(f"{old}/", f"{new}/"), message_id)

    def build_message(self, row: OutgoingEmail) -> EmailMessage | None:
        """The message to send; None when it can no longer be decrypted because its secret was removed."""
        decrypted = self._secret_box.decrypt(row.sealed or "", row.message_id)
        if decrypted is None:
            return None
        email = msgspec.json.decode(decrypted, type=EmailText)
        # An address in a header must not be folded: it has no spaces.
        message = EmailMessage(default.clone(max_line_length=MAX_HEADER_LINE))
        message["From"] = self._sender
        message["To"] = ascii_recipient(row.recipient)
        message["Subject"] = email.subject
        message["Date"] = format_datetime(row.created_at)
        message["Message-ID"] = f"<{row.message_id}>"
        message["Auto-Submitted"] = "auto-generated"
        for name, value in email.headers.items():
            message[name] = value
        # Neither quoted-printable nor base64, so that links stay whole in the raw file.
        message.set_content(email.text, cte="7bit" if email.text.isascii() else "8bit")
        message.add_alternative(email.html, subtype="html", cte="7bit" if email.html.isascii() else "8bit")
        return message


def _translated_lines(messages: Any, lines: Iterable[str], values: Mapping[str, str]) -> Iterator[str]:
    """The translated lines, without those that have an empty value."""
    for line in lines:
        names = _PLACEHOLDER.findall(line)
        if all(values[name] for name in names):
            yield messages.gettext(line, **values) if names else messages.gettext(line)


def ascii_recipient(recipient: str) -> str:
    """The address in ASCII where possible: an internationalized host has an ASCII form (RFC 5891)."""
    try:
        return validate_email(recipient, check_deliverability=False).ascii_email or recipient
    except EmailNotValidError:
        return recipient
