"""How people name a mod: a GUID, its number, its page's address, or the link on that page that opens a program."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from modhub_client.names import parse_guid
from modhub_client.outcome import WrongUse

REFERENCE_KINDS: Final = "a GUID, a number, the address of a mod's page or modhub://install/GUID"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
_PAGE: Final = re.compile(r"(.*)/Modhub/(?:mine/)?([1-9][0-9]{0,17})/?")
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ModReference:
    """A mod as it was named: ``guid``, or ``id`` with the service of its page, if that is how it was named."""

    word: str
    guid: str = ""
    id: int = 0
    service: str = ""


def parse_reference(word: str) -> ModReference | None:
    """What ``word`` names; None if it is nothing of the kind, such as a title."""
    text = word.strip()
    if guid := parse_guid(text):
        return ModReference(word, guid)
    if _NUMBER.fullmatch(text):
        return ModReference(word, id=int(text))
    try:
        address = urlsplit(text)
    except ValueError:
        return None
    if address.scheme in _PORTS:
        page = _PAGE.fullmatch(address.path)
        if page is None or not address.netloc:
            return None
        return ModReference(word, id=int(page[2]), service=f"{address.scheme}://{address.netloc}{page[1]}")
    # A service may have another scheme than modhub for its links.
    guid = parse_guid(address.path.strip("/")) if address.netloc == "install" else None
    return ModReference(word, guid) if guid else None


def refuse_elsewhere(reference: ModReference, url: str) -> None:
    """Refuse a page of another service than ``url``."""
    if reference.service and _place(reference.service) != _place(url):
        sentence = f"{reference.word} is a page of another service than {url}. Nothing was changed."
        raise WrongUse(sentence)


def _place(url: str) -> tuple[str, str, int | None, str]:
    address = urlsplit(url)
    return address.scheme, address.hostname or "", _port(address), address.path.rstrip("/")


def _port(address: SplitResult) -> int | None:
    try:
        return address.port or _PORTS.get(address.scheme)
    except ValueError:
        return None
