"""How people name a mod, and names from a service: GUIDs, and those of files, before they become part of a path.

People name a mod by a GUID, its number, its page's address, or the link on that page that opens a program.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from modhub_client.output import WrongUse

MAX_NAME_BYTES: Final = 200
_GUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
# Control and format characters (marks of the writing direction among them), lone surrogates, line separators.
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_NOT_ON_WINDOWS: Final = re.compile(r'[<>:"|?*]')
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE)


def parse_guid(text: str) -> str | None:
    """The GUID in lower case, None if ``text`` is not one."""
    lowered = text.strip().lower()
    return lowered if _GUID.fullmatch(lowered) else None


def is_sha256(text: str) -> bool:
    """Whether ``text`` is a SHA-256 as the service writes it."""
    return _SHA256.fullmatch(text) is not None


def is_single_segment(name: str) -> bool:
    """Whether ``name`` is one part of a path. The service never sends another one, so such an answer is refused."""
    return name not in {"", ".", ".."} and not {"/", "\\", "\0"} & set(name)


def clean_name(name: str) -> str:
    """A name that is safe as a file on every system and looks as much as possible like ``name``."""
    composed = unicodedata.normalize("NFC", name)
    visible = "".join(char for char in composed if unicodedata.category(char) not in _DROPPED)
    cleaned = _NOT_ON_WINDOWS.sub("_", re.split(r"[/\\]", visible)[-1]).strip().rstrip(". ")
    if cleaned.startswith("."):
        cleaned = "_" + cleaned[1:]
    if _DEVICE.fullmatch(cleaned):
        cleaned = "_" + cleaned
    return _shorten(cleaned) or "file"


def _shorten(name: str) -> str:
    """At most ``MAX_NAME_BYTES`` in UTF-8, with the ending kept."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    suffix = (dot + ending).encode() if stem and len(ending.encode()) <= 20 else b""
    start = name.encode()[: MAX_NAME_BYTES - len(suffix)]
    return (start.decode(errors="ignore") + suffix.decode()).strip()


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
