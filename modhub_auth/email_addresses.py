"""Email addresses: validation, and the form in which they are compared (C-ACC-4)."""

import unicodedata
from typing import Final

from email_validator import EmailNotValidError, validate_email

from modhub.base.errors import invalid

MAX_ADDRESS: Final = 320
"""Code points in the column of an address; RFC 5321 allows fewer."""


def parse_address(value: str) -> str | None:
    """The address as it is compared and stored: trimmed, validated and in lower case; None if it is invalid.

    It is not case-folded: folding would merge ``straße@`` and ``strasse@`` into one address.
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
    """As :func:`parse_address`; 400 for an invalid address."""
    address = parse_address(value)
    if address is None:
        raise invalid("The field %(field)s must be an email address.", field="email")
    return address
