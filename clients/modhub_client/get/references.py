"""How people name a mod: a GUID, its number, its page's address, or the link on that page that opens a program."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, urlsplit

from modhub_client.get import answers
from modhub_client.get.installation import InstallationState
from modhub_client.get.names import parse_guid
from modhub_client.get.outcome import ExitCode
from modhub_client.get.service import ModhubService
from modhub_client.outcome import ClientError, WrongUse

REFERENCE_KINDS: Final = "a GUID, a number, the address of a mod's page or modhub://install/GUID"
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")
_PAGE: Final = re.compile(r"(.*)/Modhub/([1-9][0-9]{0,17})/?")
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


def parse_references(words: list[str]) -> list[ModReference]:
    """As `parse_reference`; a word that is nothing of the kind ends the run."""
    references = [(word, parse_reference(word)) for word in words]
    if wrong := [word for word, reference in references if reference is None]:
        sentence = f"Not {REFERENCE_KINDS}: {', '.join(wrong)}. Titles are for search, show and list."
        raise WrongUse(sentence)
    return [reference for _, reference in references if reference is not None]


def resolve_remote(service: ModhubService, references: list[ModReference]) -> list[str]:
    """The GUIDs, each once; the service knows those of numbers."""
    for reference in references:
        _refuse_elsewhere(reference, service.url)
    return list(dict.fromkeys(reference.guid or _ask_guid(service, reference) for reference in references))


def resolve_installed(state: InstallationState, references: list[ModReference]) -> list[str]:
    """The GUIDs, each once; the folder knows the numbers of what is installed."""
    guids = {mod.id: guid for guid, mod in state.mods.items()}
    for reference in references:
        _refuse_elsewhere(reference, state.url)
        if not reference.guid and reference.id not in guids:
            raise ClientError(ExitCode.NOT_AVAILABLE, f"Not installed: {reference.word}. Nothing was changed.")
    return list(dict.fromkeys(reference.guid or guids[reference.id] for reference in references))


def _ask_guid(service: ModhubService, reference: ModReference) -> str:
    mod = service.find(f"/api/modhub/{reference.id}", answers.decode_shown)
    if mod is None:
        sentence = f"There is no mod {reference.id} on {service.url}. Nothing was changed."
        raise ClientError(ExitCode.NOT_AVAILABLE, sentence)
    return str(mod["guid"]).lower()


def _refuse_elsewhere(reference: ModReference, url: str) -> None:
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
