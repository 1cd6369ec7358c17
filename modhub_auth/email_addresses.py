"""E-mail addresses: which are valid, and how two spellings of one are compared (C-ACC-4)."""

import unicodedata
from typing import Final

from email_validator import EmailNotValidError, validate_email

from modhub.errors import invalid

MAX_ADDRESS: Final = 320
"""Code points that the column for an address has; RFC 5321 allows fewer."""


def parse_address(value: str) -> str | None:
    """The address as it is compared and stored: validated, without outer spaces and capitals; None when it is none.

    Capitals alone are folded: full case folding would make one address of ``straße@`` and ``strasse@``.
    """
    address = value.strip()
    if len(address) > MAX_ADDRESS:
        return None
    try:
        address.encode()
        validated = validate_email(address, check_deliverability=False)
    except (EmailNotValidError, UnicodeError):
        return None
    canonical = unicodedata.normalize("NFC", validated.normalized.lower())
    return canonical if len(canonical) <= MAX_ADDRESS else None


def require_address(value: str) -> str:
    """As :func:`parse_address`; 400 for what is no address."""
    address = parse_address(value)
    if address is None:
        raise invalid("The field %(field)s must be an e-mail address.", field="email")
    return address
