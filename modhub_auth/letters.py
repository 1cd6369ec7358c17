"""The letters and their outbox: a letter is a row of the transaction that causes it (decisions 3.7)."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
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
from modhub_auth.models import Letter
from modhub_auth.sealing import Seal

PURPOSE: Final = "letter"


@dataclass(frozen=True, slots=True)
class Text:
    """What a letter says, before it is translated: ``%(name)s`` in a sentence is filled in."""

    subject: str
    before: Sequence[str]
    link: str = ""
    after: Sequence[str] = ()


_LEAVE_ALONE: Final = "If it was not you, leave this letter alone: nothing happens then."
CONFIRM: Final = Text(
    "Confirm your address",
    [
        "Somebody, most likely you, made an account with this address at %(site)s.",
        "Follow this link to confirm that the address is yours:",
    ],
    "/Modhub/account/confirm",
    ["The link works once, for seven days.", _LEAVE_ALONE],
)
RESET: Final = Text(
    "Choose a new password",
    [
        "Somebody, most likely you, asked for a new password for the account with this address at %(site)s.",
        "Follow this link to choose one:",
    ],
    "/Modhub/account/reset",
    ["The link works once, for an hour.", "If it was not you, leave this letter alone: nothing has changed."],
)
ADD: Final = Text(
    "Confirm your address",
    [
        "Somebody, most likely you, wants to sign in with this address at %(site)s.",
        "Follow this link to confirm that the address is yours:",
    ],
    "/Modhub/account/confirm",
    ["The link works once, for seven days.", _LEAVE_ALONE],
)
TAKEN: Final = Text(
    "You have an account already",
    [
        "Somebody, most likely you, wanted to use this address for another account at %(site)s.",
        "It has an account already; nothing has changed.",
    ],
)
_NOT_YOU: Final = "If it was not you, choose a new password at once: %(forgot)s"
PASSWORD_CHANGED: Final = Text(
    "Your password was changed", ["The password of your account at %(site)s has just been changed.", _NOT_YOU]
)
FACTOR_ADDED: Final = Text(
    "An authenticator was added", ["An authenticator has just been added to your account at %(site)s.", _NOT_YOU]
)
FACTOR_REMOVED: Final = Text(
    "Your authenticator was removed",
    ["The authenticator has just been removed from your account at %(site)s.", _NOT_YOU],
)
LOGIN_LINKED: Final = Text(
    "A login was linked", ["Another way to sign in has just been linked to your account at %(site)s.", _NOT_YOU]
)
LOGIN_UNLINKED: Final = Text(
    "A login was unlinked", ["A way to sign in has just been taken away from your account at %(site)s.", _NOT_YOU]
)
TEXTS: Final = {
    "confirm": CONFIRM,
    "reset": RESET,
    "add": ADD,
    "taken": TAKEN,
    "password changed": PASSWORD_CHANGED,
    "factor added": FACTOR_ADDED,
    "factor removed": FACTOR_REMOVED,
    "login linked": LOGIN_LINKED,
    "login unlinked": LOGIN_UNLINKED,
}


class Written(msgspec.Struct):
    """A letter in the language of its reader, as it is sealed."""

    subject: str
    text: str
    html: str


class Writer:
    """Writes letters. Links begin with ``modhub.base_url``, whatever host the request named (threats C7)."""

    def __init__(self, base_url: str, sender: str, seal: Seal) -> None:
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

    def write(self, kind: str, messages: Any, secret: str = "") -> Written:
        """The letter of ``kind`` in the language of ``messages``; ``secret`` goes into its link, if it has one."""
        text = TEXTS[kind]
        # Without its scheme the name of the site is no link: a letter has the one that it is about.
        values = {"site": urlsplit(self._base_url).netloc, "forgot": f"{self._base_url}/Modhub/account/forgot"}
        filled = {
            "lang": messages.language,
            "subject": messages.gettext(text.subject),
            "before": [_fill(messages, line, values) for line in text.before],
            "after": [_fill(messages, line, values) for line in text.after],
            "link": f"{self._base_url}{text.link}?token={secret}" if text.link else "",
        }
        plain, html = (self._templates.get_template(f"letter.{form}").render(filled) for form in ("txt", "html"))
        return Written(str(filled["subject"]), plain, html)

    def queue(self, session: Session, kind: str, recipient: str, written: Written) -> None:
        """Put a letter into the outbox; it leaves when the transaction has been committed."""
        session.add(self.sealed(kind, recipient, written))
        session.flush()

    def sealed(self, kind: str, recipient: str, written: Written) -> Letter:
        """A letter as the outbox holds it: nobody reads a link there."""
        time = now()
        host = urlsplit(self._base_url).hostname or "localhost"
        message_id = f"{secrets.token_hex(12)}@{host}"[:64]
        sealed = self._seal.close(msgspec.json.encode(written).decode(), message_id)
        return Letter(
            kind=kind, recipient=recipient, sealed=sealed, message_id=message_id, created_at=time, next_at=time
        )

    def message(self, sealed: str, recipient: str, message_id: str, created_at: datetime) -> EmailMessage | None:
        """The letter as it is sent; None when it cannot be opened any more, because its secret has been taken away."""
        opened = self._seal.open(sealed, message_id)
        if opened is None:
            return None
        written = msgspec.json.decode(opened, type=Written)
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


def _fill(messages: Any, line: str, values: dict[str, str]) -> str:
    filled: str = messages.gettext(line, **values) if "%(" in line else messages.gettext(line)
    return filled


def to_header(recipient: str) -> str:
    """The address in ASCII where it can be: a host in another script has a form in ASCII (RFC 5891)."""
    try:
        return validate_email(recipient, check_deliverability=False).ascii_email or recipient
    except EmailNotValidError:
        return recipient
