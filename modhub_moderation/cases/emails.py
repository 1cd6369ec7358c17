"""To whom emails of moderation go: confirmed addresses get everything, others a fixed sentence (C-CAS-7)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from modhub.base.service_registry import find_service
from modhub.ui.i18n import Catalogs, Translations
from modhub_auth.container import AuthServices
from modhub_auth.mail.outbox import EmailEntry, EmailText, Outbox
from modhub_auth.models import Login, LoginKind
from modhub_auth.rate_limits import rate_counter
from modhub_auth.signin.recovery import RESET_EMAILS_PER_WINDOW

BETWEEN_LANGUAGES: Final = EmailEntry(lines=["* * *"])


class Letter(NamedTuple):
    """An email in one language: its subject, and its parts."""

    subject: str
    parts: Sequence[EmailEntry]


Write = Callable[[Translations], Letter]
"""Writes an email in one language."""


def outbox_of(registry: Any) -> Outbox:
    """The outbox of an application."""
    return find_service(registry, AuthServices).outbox


def addresses_of(session: Session, account_id: int) -> list[tuple[str, bool]]:
    """The email addresses of an account, and whether each is confirmed. Blocked accounts have them too."""
    has_address = Login.account_id == account_id, Login.kind == LoginKind.PASSWORD.value, Login.platform == ""
    rows = session.execute(select(Login.subject, Login.verified).where(*has_address).order_by(Login.id))
    return [(address, verified) for address, verified in rows]


def queue_for_account(
    session: Session, registry: Any, account_id: int, kind: str, *, write: Write, fixed: Write
) -> None:
    """Queue an email to each address of an account: whole to the confirmed ones, ``fixed`` to the others.

    Nobody knows the language of an account, so the email is in all that the site has.
    """
    languages = list(find_service(registry, Catalogs).translations.values())
    for address, is_confirmed in addresses_of(session, account_id):
        if is_confirmed:
            outbox_of(registry).queue(session, kind, address, in_languages(registry, languages, write))
        else:
            queue_for_stranger(session, registry, address, kind, fixed=fixed, languages=languages)


def queue_for_stranger(
    session: Session, registry: Any, address: str, kind: str, *, fixed: Write, languages: Iterable[Translations]
) -> bool:
    """Queue an email to an address that nobody has confirmed; False if it has had too many lately.

    It counts with the emails of ``forgot`` to this address, and holds nothing that another person wrote.
    """
    limiter = find_service(registry, AuthServices).rate_limiter
    if not limiter.allows(session, [rate_counter("letter", address, RESET_EMAILS_PER_WINDOW)]):
        return False
    outbox_of(registry).queue(session, kind, address, in_languages(registry, languages, fixed))
    return True


def in_languages(registry: Any, languages: Iterable[Translations], write: Write) -> EmailText:
    """The email in these languages, one after the other."""
    chosen = list(languages)
    letters = [write(messages) for messages in chosen]
    subject = " / ".join(dict.fromkeys(letter.subject for letter in letters))
    parts = [*letters[0].parts, *(part for letter in letters[1:] for part in (BETWEEN_LANGUAGES, *letter.parts))]
    return outbox_of(registry).compose(chosen[0].language, subject, parts)
